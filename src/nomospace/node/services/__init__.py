"""The services of a community in the real world: cores of `services`, driven over HTTP and mail.

- `keeping`: a file that keeps the changes of a service, line by line;
- `web`: what the HTTP services share: problems as answers, tokens, limits, a server that ends;
- `lawserver`, `controllers`, `secretaries`: the services themselves;
- `hosting`: all of them behind one address, with the tokens of the trust folder;
- `mediators`: publish and subscribe as programs over the public API.

Starlette, uvicorn and NATS are imported on use: a host that offers none of this pays nothing.
"""
