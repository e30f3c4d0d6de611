// Times as one would say them, for the parts that count by themselves. `look.span` says the same.
export function span(ms) {
  const s = Math.floor(Math.max(0, ms) / 1000);
  const two = (n) => String(n).padStart(2, "0");
  if (s >= 86400) return `${Math.floor(s / 86400)} d ${two(Math.floor((s % 86400) / 3600))} h`;
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} min`;
  if (s >= 60) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  return `${s} s`;
}
