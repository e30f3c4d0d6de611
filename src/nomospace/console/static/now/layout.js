// Where rooms and agents stand: pure functions of sizes.
const GAP = 30;
const EDGE = 16;
export const HEAD = 30;
const CELL_MAX = 74;
const CELL_MIN = 15;

// Rooms of a floor plan: three stand so that each touches the others; more stand in rows.
export function rooms(count, width, height) {
  const w = width - 2 * EDGE;
  const h = height - 2 * EDGE;
  if (count === 3) {
    const half = (w - GAP) / 2;
    const low = (h - GAP) / 2;
    return [
      { x: EDGE, y: EDGE, w: half, h },
      { x: EDGE + half + GAP, y: EDGE, w: half, h: low },
      { x: EDGE + half + GAP, y: EDGE + low + GAP, w: half, h: low },
    ];
  }
  const columns = count <= 2 ? count : Math.ceil(Math.sqrt((count * w) / h));
  const rows = Math.ceil(count / columns);
  const found = [];
  for (let at = 0; at < count; at += 1) {
    const row = Math.floor(at / columns);
    const inRow = row === rows - 1 ? count - row * columns : columns;
    const wide = (w - (inRow - 1) * GAP) / inRow;
    const high = (h - (rows - 1) * GAP) / rows;
    found.push({ x: EDGE + (at % columns) * (wide + GAP), y: EDGE + row * (high + GAP), w: wide, h: high });
  }
  return found;
}

// Places of so many signs in a room, as large as they fit.
export function seats(count, room) {
  const w = room.w - 12;
  const h = room.h - HEAD - 10;
  let cell = CELL_MAX;
  while (cell > CELL_MIN && Math.floor(w / cell) * Math.floor(h / cell) < count) cell -= 1;
  const columns = Math.max(1, Math.floor(w / cell));
  const fit = Math.min(count, columns * Math.max(1, Math.floor(h / cell)));
  const used = Math.min(columns, fit);
  const rows = Math.ceil(fit / Math.max(1, used));
  // Few are spread over the room rather than heaped in its corner.
  const stepX = Math.min(w / Math.max(1, used), cell * 1.7);
  const stepY = Math.min(h / Math.max(1, rows), cell * 1.5);
  const left = room.x + 6 + (w - stepX * used) / 2 + stepX / 2;
  const top = room.y + HEAD + 4 + (h - stepY * rows) / 2 + stepY / 2;
  const places = [];
  for (let at = 0; at < fit; at += 1) {
    places.push({ x: left + (at % used) * stepX, y: top + Math.floor(at / used) * stepY });
  }
  return { cell, places };
}
