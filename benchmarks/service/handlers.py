"""What the service is compared with: handlers that decide nothing and keep nothing."""

import json
import sys
from typing import Any

import uvicorn

ANSWER = {
    "decision_id": "AAAAAAAAAAEVl_tAzwdnIA",
    "arm": "a1",
    "probability": 0.5,
    "plan_version": 1,
    "how": "starting",
    "repeated": False,
}
BODY = json.dumps(ANSWER, separators=(",", ":")).encode()
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """Answer every request alike, without a look at it."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


def fastapi_app() -> Any:
    """One endpoint whose request and answer are models; it gives the same answer to all."""
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Decide(BaseModel):
        context: str
        request_id: str | None = None
        excluded_arms: list[str] = []

    class DecideAnswer(BaseModel):
        decision_id: str
        arm: str
        probability: float
        plan_version: int
        how: str
        repeated: bool

    app = FastAPI()

    @app.post("/v1/campaigns/{name}/decide")
    async def decide(name: str, body: Decide) -> DecideAnswer:
        return DecideAnswer(**ANSWER)  # type: ignore[arg-type]

    return app


def main() -> None:
    """Serve `bare` or `fastapi` on a free port, with the settings of uvicorn that the service has."""

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print(self.servers[0].sockets[0].getsockname()[1], flush=True)

    app = fastapi_app() if sys.argv[1] == "fastapi" else bare
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=4096,
    )
    Server(config).run()


if __name__ == "__main__":
    main()
