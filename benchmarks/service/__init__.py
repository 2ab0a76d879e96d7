"""The decision service under load, beside a bare ASGI handler and a bare FastAPI endpoint in the same run.

`python -m benchmarks.service` or `make bench-service`. Servers share one core and take turns on it, the load comes from
a process on another (`load`), and what is required of the service is a ratio to what the others did in the same turn.
"""
