"""Requests from arrival to receipt, over real sockets."""
