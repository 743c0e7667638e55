"""Jobs whose nodes come and go: generations agreed on in etcd."""
