import socket
import time

listener = socket.create_server(("", 6070))
time.sleep(600)
