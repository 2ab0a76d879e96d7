"""Clients of the decision service: `Client`, `AsyncClient`, and `LocalDecider`, which decides where the traffic is.

>>> from arcbandit.client import Client
>>> client = Client("http://127.0.0.1:8000", token="arcb_...")
>>> client
<Client of http://127.0.0.1:8000>
>>> client.close()
"""

from arcbandit.client.clients import AsyncClient as AsyncClient
from arcbandit.client.clients import Client as Client
from arcbandit.client.local import LocalDecider as LocalDecider
from arcbandit.client.local import LocalDecision as LocalDecision
from arcbandit.client.retrying import Retries as Retries

__all__ = ["AsyncClient", "Client", "LocalDecider", "LocalDecision", "Retries"]
