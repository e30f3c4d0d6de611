"""The console in a real Chromium; one for the folder, ended with its last test (`conftest`)."""
