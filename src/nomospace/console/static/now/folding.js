// Equal rulings in a row as one line: pure functions over lists of lines, the newest first.
// A line is { one: its newest ruling, count, first: the key of its oldest }.

// Equal are rulings at one member on the same kind of event and message, by one rule, with one end.
const same = (a, b) => [0, 3, 4, 5, 7].every((at) => a[at] === b[at]) && head(a[6]) === head(b[6]);
export const head = (gist) => gist.split("(", 1)[0];

// Lines with rulings before them, which come the oldest first.
export function folded(lines, rulings) {
  const found = [...lines];
  for (const one of rulings) {
    const top = found[0];
    if (top && same(top.one, one)) found[0] = { ...top, one, count: top.count + 1 };
    else found.unshift({ one, count: 1, first: `${one[0]} ${one[1]}` });
  }
  return found;
}

// Lines with what was passed over: a run is [host, home, kind, verdict, rule, head, count], and counts
// with the newest line of its like. `left` is how many had none.
export function counted(lines, runs) {
  const found = [...lines];
  let left = 0;
  for (const [host, home, kind, verdict, rule, message, count] of runs) {
    const like = [host, null, null, home, kind, verdict, message, rule];
    const at = found.slice(0, RUN_MAX).findIndex(({ one }) => same(one, like));
    if (at < 0) left += count;
    else found[at] = { ...found[at], count: found[at].count + count };
  }
  return { lines: found, left };
}
const RUN_MAX = 30;
