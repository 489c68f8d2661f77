"""Plain HTTP: signing in and out, health, files, and accounts for tests.

Source: Chatto 0.4.20, cli/internal/http_server/auth.go, cli/internal/http_server/assets.go,
docs/adr/ADR-020 (the test route), docs/adr/ADR-047.
"""

import json
from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from .accounts import Account
from .assets import Asset, TicketVerdict
from .credentials import CSRF_COOKIE, CSRF_HEADER, SESSION_COOKIE, TOKEN_LIFETIME_S
from .refusals import RefusedError
from .world import World

MAX_LOGIN, MAX_EMAIL = 32, 254  # bytes
SUCCESS: Mapping[str, bool] = {"success": True}


class Routes:
    """Answers what is neither an RPC nor the stream."""

    def __init__(self, world: World) -> None:
        """Answer for this world."""
        self._world = world

    def all(self) -> list[BaseRoute]:
        """Return the routes with their methods."""
        return [
            Route("/auth/login", self.log_in, methods=["POST"]),
            Route("/auth/logout", self.log_out, methods=["POST"]),
            Route("/auth/revoke-token", self.revoke_token, methods=["POST"]),
            Route("/auth/test/create-user", self.create_user, methods=["POST"]),
            Route("/healthz", _fixed({"status": "ok"}), methods=["GET"]),
            Route("/readyz", _fixed({"status": "ready"}), methods=["GET"]),
            Route("/assets/files/{asset_id}", self.file, methods=["GET"]),
            Route("/assets/files/{asset_id}/image/{variant:path}", self.image, methods=["GET"]),
        ]

    async def log_in(self, request: Request) -> Response:
        """Check login and password; answer a bearer token and set the cookies."""
        body = await _json(request)
        name = (body.get("login") or body.get("identifier") or "").strip()
        refusal = _login_refusal(name, body.get("password", ""))
        if refusal:
            return _error(400, refusal)
        account = self._world.accounts.by_login(name)
        if account is None or account.password != body["password"]:
            return _error(401, "Invalid credentials")
        token = self._world.credentials.mint_token(account)
        handle, csrf = self._world.credentials.mint_session(account)
        user = {"id": account.id, "login": account.login}
        response = JSONResponse({**SUCCESS, "user": user, "token": token})
        lifetime_s = TOKEN_LIFETIME_S
        response.set_cookie(
            SESSION_COOKIE, handle, httponly=True, samesite="lax", max_age=lifetime_s
        )
        response.set_cookie(CSRF_COOKIE, csrf, samesite="lax", max_age=lifetime_s)
        return response

    async def log_out(self, request: Request) -> Response:
        """End the presented credentials, and every stream of their accounts."""
        credentials = self._world.credentials
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        handle = request.cookies.get(SESSION_COOKIE, "")
        account, session = credentials.bearer(token), credentials.session(handle)
        if account is None and session is not None:
            if request.headers.get(CSRF_HEADER) != session.csrf:
                return _error(403, "CSRF token missing or invalid")
            account = session.account
        for presented in (token, handle):
            credentials.revoke(presented)
        if account is not None:
            self._world.feed.terminate(account.id, "logout")
        response = JSONResponse(SUCCESS)
        response.delete_cookie(SESSION_COOKIE)
        response.delete_cookie(CSRF_COOKIE)
        return response

    async def revoke_token(self, request: Request) -> Response:
        """End one token, whoever asks; no stream ends with it."""
        token = (await _json(request)).get("token")
        if not token:
            return _error(400, "Token is required")
        self._world.credentials.revoke(token)
        return JSONResponse(SUCCESS)

    async def create_user(self, request: Request) -> Response:
        """Create an account, as the server's test builds do."""
        body = await _json(request)
        try:
            account = self._world.accounts.add(
                body.get("login", ""),
                body.get("password", ""),
                display_name=body.get("displayName", ""),
            )
        except RefusedError as error:
            return _error(500, error.message)
        return JSONResponse({**SUCCESS, "user": {"id": account.id, "login": account.login}}, 201)

    async def file(self, request: Request) -> Response:
        """Give a file to a member of its room who has a ticket, or a credential."""
        if request.method == "HEAD":
            return PlainTextResponse("404 page not found\n", 404)
        ticket = request.query_params.get("access")
        if ticket is None:
            viewer = self._caller(request)
        else:
            verdict, viewer_id = self._world.assets.read_ticket(
                ticket, request.path_params["asset_id"]
            )
            if verdict is TicketVerdict.INVALID:
                return _error(403, "Invalid asset access ticket")
            if verdict is TicketVerdict.OTHER_ASSET:
                return _error(403, "Asset access ticket does not match asset")
            viewer = self._world.accounts.get(viewer_id)
        if viewer is None:
            return _error(401, "Authentication required")
        return self._file_for(viewer, request.path_params["asset_id"])

    async def image(self, request: Request) -> Response:
        """Give the picture itself for every variant: nothing here draws smaller ones."""
        if "access" not in request.query_params:
            return _error(403, "Asset derivative URL requires a signed access ticket")
        return await self.file(request)

    def _file_for(self, viewer: Account, asset_id: str) -> Response:
        asset = self._world.assets.find(asset_id)
        if asset is None:
            return _error(404, "Attachment not found")
        if not self._world.permissions.is_member(viewer, asset.room):
            return _error(403, "Access denied: not a member of the room")
        return _content(asset)

    def _caller(self, request: Request) -> Account | None:
        authorization = request.headers.get("authorization", "")
        return self._world.credentials.caller(authorization, request.cookies)


def _content(asset: Asset) -> Response:
    headers = {"cache-control": "private, no-store", "content-type": asset.content_type}
    return Response(asset.content, headers=headers)


def _login_refusal(name: str, password: str) -> str:
    """Return why a login is refused before anybody is looked up; empty if it is not."""
    if not password:
        return "Password is required"
    if not name:
        return "Login is required"
    longest = MAX_EMAIL if "@" in name else MAX_LOGIN
    return "Invalid credentials" if len(name.encode()) > longest else ""


async def _json(request: Request) -> dict[str, str]:
    """Return the text fields of a JSON body; a body that is no JSON object has none."""
    try:
        body = json.loads(await request.body())
    except ValueError:
        return {}
    if not isinstance(body, dict):
        return {}
    return {name: value for name, value in body.items() if isinstance(value, str)}


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)


def _fixed(answer: dict[str, str]) -> Callable[[Request], Response]:
    return lambda _: JSONResponse(answer)
