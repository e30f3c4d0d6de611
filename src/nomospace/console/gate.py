"""The door of the console: the login page, and what pages may load.

The login page is plain HTML of this module, so that not even the console's scripts are seen without
a token. A link with `?token=` (as `nomospace up` prints it, good for one login) logs in at once; a
lasting token is shown in the form alone, as addresses are kept and sent on.
Pages load scripts and styles of this host only, are never shown in a frame of another page, and
talk to this host only. NiceGUI compiles its templates in the browser, which needs `unsafe-eval` and
inline scripts of its own; so nothing from outside may ever be put into a page as markup.
"""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import parse_qs, urlsplit

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from nomospace.api.guard import LOGIN, cookie_of, with_cookie, with_headers
from nomospace.api.service import Service
from nomospace.errors import NomospaceError

PAGES_CSP: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; worker-src 'self' blob:; frame-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
LOGIN_CSP: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
TOKEN_CHARS_MAX: Final = 10_000
FORM_CHARS_MAX: Final = 20_000


def gate(app: FastAPI, service: Service) -> None:
    """Give an application its login page."""

    async def show(request: Request) -> Response:
        to = _own_path(request.query_params.get("to", "/"))
        token = request.query_params.get("token", "") or _token_in(to)
        if not token:
            return _page(to, "")
        return _enter(request, service, token, _without_token(to), lasting=False)

    async def enter(request: Request) -> Response:
        body = (await request.body()).decode("utf-8", "replace")[:FORM_CHARS_MAX]
        form = parse_qs(body, max_num_fields=10)
        to = _own_path(form.get("to", ["/"])[0])
        return _enter(request, service, form.get("token", [""])[0].strip(), to)

    app.add_route(LOGIN, show, methods=["GET"])
    app.add_route(LOGIN, enter, methods=["POST"])


def _enter(
    request: Request, service: Service, token: str, to: str, *, lasting: bool = True
) -> Response:
    try:
        before = cookie_of(request.headers.get("cookie", ""))
        key = service.logins.log_in(token[:TOKEN_CHARS_MAX], lasting=lasting, before=before)
    except NomospaceError as error:
        return _page(to, str(error), status=401)
    return with_cookie(RedirectResponse(_without_token(to), 303), request, key)


def _own_path(to: str) -> str:
    """Where to go after the login: a path of this host, whatever was asked for.

    >>> _own_path("/spaces?x=1"), _own_path("https://elsewhere/"), _own_path("//elsewhere")
    ('/spaces?x=1', '/', '/')
    """
    parts = urlsplit(to)
    own = not parts.scheme and not parts.netloc and to.startswith("/") and "\\" not in to
    return to if own and not to.startswith("//") and to.isprintable() else "/"


def _token_in(to: str) -> str:
    """A token in the query of the page that was asked for."""
    return parse_qs(urlsplit(to).query).get("token", [""])[0]


def _without_token(to: str) -> str:
    """A path whose query has no token, so that it may be shared.

    >>> _without_token("/now?token=k3y&story=a"), _without_token("/now")
    ('/now?story=a', '/now')
    """
    path, _, query = to.partition("?")
    left = "&".join(part for part in query.split("&") if part and not part.startswith("token="))
    return f"{path}?{left}" if left else path


def _page(to: str, why: str, *, status: int = 200) -> Response:
    said = f'<p role="alert">{escape(why)}</p>' if why else ""
    page = _LOGIN_PAGE.replace("{to}", escape(to, quote=True)).replace("{said}", said)
    headers = {
        "content-security-policy": LOGIN_CSP,
        "referrer-policy": "same-origin",  # with none at all the form would come from `null`
    }
    return HTMLResponse(page, status, headers)


_LOGIN_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Nomospace: log in</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --law: #1f4e9e; --ink: #1b2430; --paper: #f6f7f9;
  --card: #fff; --line: #c9d0da; --refused: #a81e1e; }
@media (prefers-color-scheme: dark) {
  :root { --law: #8db4f5; --ink: #e6eaf0; --paper: #12161c; --card: #1a2029; --line: #39424f;
    --refused: #ff9c94; } }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
form { box-sizing: border-box; width: min(29rem, 92vw); background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; padding: 1.6rem; }
h1 { margin: 0 0 .3rem; font-size: 1.25rem; color: var(--law); }
label { display: block; margin: 1rem 0 .3rem; font-weight: 600; }
input { box-sizing: border-box; width: 100%; padding: .55rem; border: 1px solid var(--line);
  border-radius: 6px; font: 15px ui-monospace, monospace; background: transparent;
  color: inherit; }
button { margin-top: 1rem; padding: .55rem 1.2rem; border: 0; border-radius: 6px; font: inherit;
  font-weight: 600; background: var(--law); color: var(--card); cursor: pointer; }
input:focus-visible, button:focus-visible { outline: 3px solid var(--law); outline-offset: 2px; }
p { margin: .4rem 0 0; } [role=alert] { color: var(--refused); }
code { font: 14px ui-monospace, monospace; }
</style></head><body>
<form method="post" action="/login">
<h1>Nomospace</h1><p>Show a token to see this host.</p>{said}
<input type="hidden" name="to" value="{to}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
<p><small>A host without certificates prints a token when it starts; else
<code>nomospace trust issue token</code> makes one.</small></p>
</form></body></html>
"""


class PageHeaders:
    """Says with every answer of the pages what a page may load, and who may show it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, with the header."""
        policy = (b"content-security-policy", PAGES_CSP.encode())
        await self._app(scope, receive, with_headers(send, (policy,)))
