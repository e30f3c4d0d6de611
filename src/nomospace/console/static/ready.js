// Tells the host that a part of the page stands and hears: what was told to it before is told again.
const LOOK_MS = 50;

export function when_ready(part) {
  if (part.$.isUnmounted) return;
  if (window.did_handshake) part.$emit("ready");
  else setTimeout(() => when_ready(part), LOOK_MS);
}
