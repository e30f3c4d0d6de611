// Where rooms and agents stand: pure functions of sizes.
const EDGE = 16;
export const HEAD = 30;
const CELL_MAX = 74;
const CELL_MIN = 15;
// Seats of a room come in these steps, so that who comes or goes moves nobody else.
const STEPS = [6, 12, 24, 48, 96, 200, 400];

// Rooms of a floor plan: three stand so that each touches the others; more stand in rows.
export function rooms(count, width, height) {
  const w = width - 2 * EDGE;
  const h = height - 2 * EDGE;
  const gap = count > 6 ? 10 : 30;
  if (count === 3 && w > 420) {
    const half = (w - gap) / 2;
    const low = (h - gap) / 2;
    return [
      { x: EDGE, y: EDGE, w: half, h },
      { x: EDGE + half + gap, y: EDGE, w: half, h: low },
      { x: EDGE + half + gap, y: EDGE + low + gap, w: half, h: low },
    ];
  }
  const columns = Math.min(count, Math.max(1, count <= 2 && w > 420 ? count : Math.round(Math.sqrt((count * w) / h / 1.4))));
  const rows = Math.ceil(count / columns);
  const found = [];
  for (let at = 0; at < count; at += 1) {
    const row = Math.floor(at / columns);
    const inRow = row === rows - 1 ? count - row * columns : columns;
    const wide = (w - (inRow - 1) * gap) / inRow;
    const high = (h - (rows - 1) * gap) / rows;
    found.push({ x: EDGE + (at % columns) * (wide + gap), y: EDGE + row * (high + gap), w: wide, h: high });
  }
  return found;
}

// Seats for at least so many signs in a room, as large as they fit; fewer where they do not.
export function seats(count, room) {
  const w = room.w - 12;
  const h = room.h - HEAD - 20;
  const wanted = STEPS.find((step) => step >= count) || count;
  let cell = CELL_MAX;
  while (cell > CELL_MIN && Math.floor(w / cell) * Math.floor(h / cell) < wanted) cell -= 1;
  const columns = Math.max(1, Math.floor(w / cell));
  const fit = Math.min(wanted, columns * Math.max(0, Math.floor(h / cell)));
  const used = Math.max(1, Math.min(columns, fit));
  const rows = Math.max(1, Math.ceil(fit / used));
  // Few are spread over the room rather than heaped in its corner.
  const stepX = Math.min(w / used, cell * 1.7);
  const stepY = Math.min(h / rows, cell * 1.5);
  const left = room.x + 6 + (w - stepX * used) / 2 + stepX / 2;
  const top = room.y + HEAD + 4 + (h - stepY * rows) / 2 + stepY / 2;
  const places = [];
  for (let at = 0; at < fit; at += 1) {
    places.push({ x: left + (at % used) * stepX, y: top + Math.floor(at / used) * stepY });
  }
  // The first sits in the middle.
  const [x, y] = [room.x + room.w / 2, top + (stepY * (rows - 1)) / 2];
  const far = (one) => Math.abs(one.x - x) + 2 * Math.abs(one.y - y);
  return { cell, places: places.sort((one, other) => far(one) - far(other)) };
}

// Who sits where in a room: everybody keeps its seat, and who comes takes the first that is free.
// `before` and what is given back have the number of a seat by agent.
export function seated(before, agents) {
  const here = new Set(agents);
  const taken = new Map();
  const free = new Set();
  for (const [agent, seat] of before) {
    if (here.has(agent)) {
      taken.set(agent, seat);
      free.add(seat);
    }
  }
  let next = 0;
  for (const agent of agents) {
    if (taken.has(agent)) continue;
    while (free.has(next)) next += 1;
    free.add(next);
    taken.set(agent, next);
  }
  return taken;
}
