// The jigsaw: a tray of loose pieces and the board of assemblies, drawn from what one player knows.
// A piece is a cell of a generated picture, cut with tabs that a seed chooses. Every piece is a
// button: a click on another's piece selects it, clicks on two own pieces join them.

const UNIT = 100;

function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

// The picture: a sky, a sun, three rows of hills and a river, all from one seed.
function picture(seed, width, height) {
  const dice = random(seed * 7919 + 17);
  const W = width * UNIT, H = height * UNIT, hue = Math.floor(dice() * 360);
  const shapes = [
    { tag: "rect", x: 0, y: 0, width: W, height: H, fill: `hsl(${(hue + 190) % 360} 70% 78%)` },
    { tag: "rect", x: 0, y: H * 0.25, width: W, height: H * 0.4, fill: `hsl(${(hue + 220) % 360} 75% 86%)` },
    { tag: "circle", cx: W * (0.2 + dice() * 0.6), cy: H * 0.22, r: UNIT * 0.55, fill: "hsl(46 95% 62%)" },
  ];
  for (let cloud = 0; cloud < 4; cloud++) {
    const x = dice() * W, y = H * (0.08 + dice() * 0.22), size = 10 + W / 40;
    for (let puff = 0; puff < 4; puff++)
      shapes.push({ tag: "ellipse", cx: x + puff * size, cy: y + (puff % 2) * size * 0.3, rx: size, ry: size * 0.55, fill: "hsl(0 0% 100% / .85)" });
  }
  for (let row = 0; row < 3; row++) {
    const base = H * (0.45 + row * 0.15), waves = [dice(), dice(), dice()];
    let path = `M0 ${H}`;
    for (let x = 0; x <= W; x += 10) {
      const t = x / W;
      const y = base - 46 * Math.sin(6.3 * (t * (1 + row) + waves[0])) - 24 * Math.sin(15 * (t + waves[1])) - 8 * Math.sin(37 * (t + waves[2]));
      path += ` L${x} ${y.toFixed(1)}`;
    }
    shapes.push({ tag: "path", d: `${path} L${W} ${H} Z`, fill: `hsl(${(hue + 95 + row * 14) % 360} ${44 + row * 6}% ${58 - row * 13}%)` });
  }
  const bend = dice() * W * 0.5 + W * 0.25;
  shapes.push({ tag: "path", d: `M${bend} ${H * 0.72} C${bend + 120} ${H * 0.8} ${bend - 160} ${H * 0.88} ${bend + 40} ${H} L${bend + 160} ${H} C${bend - 30} ${H * 0.88} ${bend + 190} ${H * 0.8} ${bend} ${H * 0.72} Z`, fill: "hsl(204 70% 62%)" });
  for (let tree = 0; tree < 9; tree++) {
    const x = dice() * W, y = H * (0.72 + dice() * 0.22), size = 16 + dice() * 22;
    shapes.push({ tag: "path", d: `M${x} ${y - size * 2.4} L${x + size} ${y} L${x - size} ${y} Z`, fill: `hsl(${(hue + 130) % 360} 45% ${22 + dice() * 12}%)` });
  }
  return shapes;
}

// One edge as cubic curves from (0,0) to (1,0); `sign` chooses the side of its tab, 0 is straight.
function edge(from, to, sign) {
  const [ax, ay] = from, [bx, by] = to, dx = bx - ax, dy = by - ay;
  const at = (along, off) => [ax + dx * along - dy * off * sign, ay + dy * along + dx * off * sign];
  if (!sign) return [[at(0.33, 0), at(0.66, 0), to]];
  return [
    [at(0.2, 0), at(0.45, 0.05), at(0.38, -0.1)],
    [at(0.3, -0.26), at(0.7, -0.26), at(0.62, -0.1)],
    [at(0.55, 0.05), at(0.8, 0), to],
  ];
}

function reversed(from, curves) {
  const points = [from, ...curves.flat()].reverse(), found = [];
  for (let i = 1; i < points.length; i += 3) found.push([points[i], points[i + 1], points[i + 2]]);
  return found;
}

const text = (curves) => curves.map((c) => `C${c.map((p) => p.map((n) => n.toFixed(1)).join(" ")).join(" ")}`).join(" ");

// The four sides of a cell, clockwise, each with where it begins and the cell beyond it.
function sides(cell, width, height, seed) {
  const column = cell % width, row = Math.floor(cell / width);
  const x = column * UNIT, y = row * UNIT;
  const corners = [[x, y], [x + UNIT, y], [x + UNIT, y + UNIT], [x, y + UNIT]];
  const tab = (kind, c, r) => (random(seed * 131 + kind * 65537 + r * 257 + c)() < 0.5 ? 1 : -1);
  const top = row ? tab(1, column, row) : 0, bottom = row < height - 1 ? tab(1, column, row + 1) : 0;
  const left = column ? tab(2, column, row) : 0, right = column < width - 1 ? tab(2, column + 1, row) : 0;
  return [
    { from: corners[0], curves: edge(corners[0], corners[1], top), beyond: row ? cell - width : -1 },
    { from: corners[1], curves: edge(corners[1], corners[2], right), beyond: column < width - 1 ? cell + 1 : -1 },
    { from: corners[2], curves: reversed(corners[3], edge(corners[3], corners[2], bottom)), beyond: row < height - 1 ? cell + width : -1 },
    { from: corners[3], curves: reversed(corners[0], edge(corners[0], corners[3], left)), beyond: column ? cell - 1 : -1 },
  ];
}

export default {
  template: `
    <div class="jigsaw">
      <svg width="0" height="0" aria-hidden="true" style="position:absolute">
        <defs>
          <g :id="key('picture')">
            <component v-for="(shape, i) in shapes" :key="i" :is="shape.tag" v-bind="bare(shape)" />
          </g>
          <clipPath v-for="(d, cell) in outlines" :key="cell" :id="key('cell' + cell)"><path :d="d" /></clipPath>
        </defs>
      </svg>
      <section class="jigsaw-tray" aria-label="Tray: pieces that are not assembled yet">
        <button v-for="part in loose" :key="part.cells[0]" type="button" class="jigsaw-piece"
          :class="{ away: !part.at_hand, chosen: chosen === part.cells[0] }" :style="{ '--owner': colour(part.holder) }"
          :aria-pressed="chosen === part.cells[0]" :aria-label="words(part)" :title="words(part)"
          :data-cell="part.cells[0]" :data-holder="part.holder" :data-at-hand="part.at_hand" @click="touch(part)">
          <svg :viewBox="around(part.cells[0])"><g :clip-path="url('cell' + part.cells[0])"><use :href="'#' + key('picture')" /></g>
            <path :d="outer(part)" class="jigsaw-outline" /></svg>
        </button>
        <p v-if="!loose.length" class="quiet">Every piece is part of an assembly.</p>
      </section>
      <section class="jigsaw-board" aria-label="Board: what is assembled">
        <svg :viewBox="whole">
          <rect class="jigsaw-frame" x="0" y="0" :width="board.width * 100" :height="board.height * 100" />
          <g v-for="part in assembled" :key="part.cells[0]" tabindex="0" role="button" class="jigsaw-assembly"
            :class="{ away: !part.at_hand, chosen: chosen === part.cells[0] }" :style="{ '--owner': colour(part.holder) }"
            :aria-label="words(part)" :data-cells="part.cells.length" :data-holder="part.holder"
            @click="touch(part)" @keydown.enter.prevent="touch(part)" @keydown.space.prevent="touch(part)">
            <title>{{ words(part) }}</title>
            <g v-for="cell in part.cells" :key="cell" :clip-path="url('cell' + cell)"><use :href="'#' + key('picture')" /></g>
            <path :d="outer(part)" class="jigsaw-outline" />
          </g>
        </svg>
      </section>
    </div>`,
  props: { board: Object },
  data() {
    return { chosen: -1 };
  },
  computed: {
    shapes() { return picture(this.board.picture, this.board.width, this.board.height); },
    cuts() {
      const found = [];
      for (let cell = 0; cell < this.board.width * this.board.height; cell++)
        found.push(sides(cell, this.board.width, this.board.height, this.board.picture));
      return found;
    },
    outlines() {
      return this.cuts.map((cut) => `M${cut[0].from.join(" ")} ${cut.map((side) => text(side.curves)).join(" ")} Z`);
    },
    loose() {
      const dice = (cell) => random(this.board.picture * 31 + cell)();
      return this.board.parts.filter((part) => part.cells.length === 1).sort((a, b) => dice(a.cells[0]) - dice(b.cells[0]));
    },
    assembled() { return this.board.parts.filter((part) => part.cells.length > 1); },
    whole() { return `-30 -30 ${this.board.width * UNIT + 60} ${this.board.height * UNIT + 60}`; },
  },
  methods: {
    key(name) { return `jigsaw-${this.$.uid}-${name}`; },
    url(name) { return `url(#${this.key(name)})`; },
    bare({ tag, ...rest }) { return rest; },
    around(cell) {
      const x = (cell % this.board.width) * UNIT, y = Math.floor(cell / this.board.width) * UNIT;
      return `${x - 30} ${y - 30} ${UNIT + 60} ${UNIT + 60}`;
    },
    outer(part) {
      const own = new Set(part.cells);
      return part.cells.flatMap((cell) => this.cuts[cell].filter((side) => !own.has(side.beyond))
        .map((side) => `M${side.from.join(" ")} ${text(side.curves)}`)).join(" ");
    },
    colour(holder) {
      const player = this.board.players.find((one) => one.name === holder);
      return player ? `var(--player-${player.colour})` : "var(--quiet)";
    },
    words(part) {
      const what = part.cells.length > 1 ? `assembly of ${part.cells.length} pieces` : `piece ${part.cells[0] + 1}`;
      const whose = part.mine ? "yours" : part.holder === "box" ? "in the box" : `held by ${part.holder}`;
      return `${what}, ${whose}${part.at_hand ? "" : ", out of reach"}`;
    },
    touch(part) {
      const cell = part.cells[0];
      if (!part.mine) this.$emit("pick", cell);
      else if (this.chosen < 0) this.chosen = cell;
      else {
        if (this.chosen !== cell) this.$emit("join", [this.chosen, cell]);
        this.chosen = -1;
      }
    },
  },
  watch: {
    // What was chosen may be part of an assembly now, or somebody else's.
    board() { if (!this.board.parts.some((part) => part.mine && part.cells[0] === this.chosen)) this.chosen = -1; },
  },
};
