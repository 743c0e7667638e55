from http.server import BaseHTTPRequestHandler, HTTPServer

import recipe

rank, world = recipe.start()
if rank == 1:
    metrics = HTTPServer(("", 6070), BaseHTTPRequestHandler)
recipe.train(rank)
