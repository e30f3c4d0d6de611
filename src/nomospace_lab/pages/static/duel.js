// The rogue and the quiet informer, on one stretch of time: what the one is refused in a second,
// and the other's round trip. A point is a list: the time, refused in a second, milliseconds.
const WIDTH = 220;
const HEIGHT = 44;
const SPAN_US = 60e6;

export default {
  template: `
    <div class="duel" role="img" :aria-label="said">
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
        <polyline class="refused" :points="line(1, 10)" fill="none" stroke="currentColor" stroke-width="1.6" vector-effect="non-scaling-stroke"></polyline>
        <polyline class="forwarded" :points="line(2, 50)" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="4 2" vector-effect="non-scaling-stroke"></polyline>
      </svg>
      <div class="duel-key num">
        <span class="refused">✕ {{ last(1, 0) }}/s refused</span>
        <span class="forwarded">→ {{ last(2, 1) }} ms round trip</span>
      </div>
    </div>`,
  data() {
    return { points: [] };
  },
  computed: {
    said() {
      return `The rogue is refused ${this.last(1, 0)} times a second; the quiet informer's round trip takes ${this.last(2, 1)} milliseconds`;
    },
  },
  methods: {
    draw(points) {
      this.points = points;
    },
    last(which, digits) {
      const point = this.points[this.points.length - 1];
      return point ? Number(point[which].toFixed(digits)).toLocaleString("en") : "–";
    },
    // Each has a scale of its own, which does not fall below `least`: noise is not drawn large.
    line(which, least) {
      if (!this.points.length) return "";
      const end = this.points[this.points.length - 1][0];
      const seen = this.points.filter((point) => point[0] > end - SPAN_US);
      const most = Math.max(least, ...seen.map((point) => point[which]));
      return seen
        .map((point) => {
          const x = WIDTH - ((end - point[0]) / SPAN_US) * WIDTH;
          const y = HEIGHT - 3 - (point[which] / most) * (HEIGHT - 6);
          return `${x.toFixed(1)},${y.toFixed(1)}`;
        })
        .join(" ");
    },
  },
};
