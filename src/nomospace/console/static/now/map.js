// The map: hosts as rooms on the ground of their group, agents as signs, messages as pulses.
// Something moves only when something moved; with reduced motion a line is shown instead. What runs
// along a line is drawn on a canvas of its own: the rooms and signs below are not painted for it.
// A floor is { by, rooms: [{ name, title, pick, engaged, agents: [[id, name, role, host]], more }],
// links: [[a, b]], hidden }: rooms are hosts, or agents of one role or community. An agent of a host
// that has no role, and no name but that in its id, is told by its id alone.
import { HEAD, rooms, seated, seats } from "/console-static/now/layout.js";

const SVG = "http://www.w3.org/2000/svg";
const TRAVEL_MS = 700;
const TRACE_MS = 5000;
const BADGE_MS = 2200;
const AWAY_MS = 3000;
const TRACES_MAX = 60;
const PULSES_MAX = 16; // of one beat: more could not be told apart
const RECEIVERS_MAX = 12;
const SMALL = 7; // the radius of a sign in which no icon can be made out
const LETTER = 6.2; // about the width of one, in pixels
const SIGNS = { forwarded: "→", refused: "✕", held: "⏸", obligation: "⏳" };
// A sign of the icon face for each role; whoever has no role is a plain agent.
const ICONS = {
  informer: "campaign",
  layman: "campaign",
  expert: "medical_services",
  inspector: "fact_check",
  mediator: "hub",
  manager: "manage_accounts",
  subscriber: "notifications",
  nurse: "health_and_safety",
  assistant: "assistant",
  device: "sensors",
  rogue: "bolt",
  player: "sports_esports",
};

export default {
  template: `
    <div class="map card">
      <div class="map-ground" ref="ground">
      <svg ref="svg" :width="width" :height="height" :viewBox="'0 0 ' + width + ' ' + height"
        role="group" aria-label="Hosts and agents" @keydown="key" @click="click"
        @pointerover="over" @pointerleave="near = ''" @focusin="over" @focusout="near = ''">
        <path v-if="shared" class="map-shared" :d="shared"></path>
        <line v-for="link in links" :key="link.key" class="map-link" :x1="link.x1" :y1="link.y1" :x2="link.x2" :y2="link.y2"></line>
        <g v-for="room in drawn" :key="room.name">
          <rect class="map-room" :class="{ apart: !room.engaged }" :x="room.x" :y="room.y" :width="room.w" :height="room.h" rx="9"></rect>
          <g class="map-title" role="button" :tabindex="at === 'host ' + room.name ? 0 : -1" :data-item="'host ' + room.name"
            :data-pick="room.pick" :data-id="pickOf(room)" :aria-label="room.title + ', ' + floor.by + ' ' + room.name + ', ' + room.count + ' agents'"
            @focus="at = 'host ' + room.name">
            <rect :x="room.x" :y="room.y" :width="room.w" height="${HEAD}" rx="9"></rect>
            <text class="map-title-text" :x="room.x + 12" :y="room.y + 20">{{ fitting(room.title, room.w) }}</text>
            <title>{{ room.title }}</title>
          </g>
          <text v-if="room.w > 170" class="map-title-rate num" :x="room.x + room.w - 10" :y="room.y + 20" text-anchor="end"><tspan
            class="refused" v-if="refused(room)">✕ {{ refused(room) }}/s&nbsp; </tspan>{{ said(room) }}</text>
          <text v-if="room.hidden" class="map-more map-open" role="button" :tabindex="at === 'more ' + room.name ? 0 : -1"
            :data-item="'more ' + room.name" data-pick="group" :data-id="floor.by + '/' + room.name" @focus="at = 'more ' + room.name"
            :aria-label="'all ' + room.count + ' agents of ' + room.title" :x="room.x + room.w - 10" :y="room.y + room.h - 7" text-anchor="end">{{ room.seats.length ? "and " : "" }}{{ grouped(room.hidden) }} {{ room.seats.length ? "more" : "agents" }}</text>
          <text v-if="!room.count && room.w > 90" class="map-more" :x="room.x + room.w / 2" :y="room.y + room.h / 2 + 10" text-anchor="middle">no agents yet</text>
        </g>
        <g ref="pulses"></g>
        <g v-for="agent in agents" :key="agent.id" v-memo="[agent, at === 'agent ' + agent.id]" class="map-agent" :class="[agent.role, { named: agent.named, leaving: agent.until }]" role="button"
          :style="{ transform: 'translate(' + agent.x + 'px,' + agent.y + 'px)' }"
          :tabindex="at === 'agent ' + agent.id ? 0 : -1" :data-item="'agent ' + agent.id" data-pick="agent"
          :data-id="agent.id" :data-host="agent.host" :data-role="agent.role" :aria-label="agent.id + (agent.role ? ', ' + agent.role : '') + ', at ' + agent.room"
          @focus="at = 'agent ' + agent.id">
          <circle class="map-sign" :r="agent.r"></circle>
          <text v-if="agent.icon" class="map-icon material-icons" :style="{ fontSize: agent.r * 1.25 + 'px' }" aria-hidden="true">{{ agent.icon }}</text>
          <template v-if="agent.named">
            <text class="map-name" :y="agent.r + 12" text-anchor="middle">{{ fitting(agent.name, 86) }}</text>
            <title>{{ agent.id }}</title>
          </template>
        </g>
        <text v-if="hint" class="map-name map-hint" :x="hint.x" :y="hint.y + hint.r + 12" text-anchor="middle">{{ fitting(hint.id, 240) }}</text>
        <g ref="badges"></g>
      </svg>
      <canvas ref="dots" class="map-dots" :style="{ width: width + 'px', height: height + 'px' }" :width="width * dense"
        :height="height * dense" aria-hidden="true"></canvas>
      </div>
      <div class="map-key quiet">
        <span v-for="(sign, word) in signs" :key="word" :class="word" aria-hidden="true">{{ sign }} <span class="quiet">{{ word }}</span></span>
        <span v-for="role in roles" :key="role" aria-hidden="true"><span class="material-icons map-key-icon">{{ icon(role) }}</span> {{ role }}</span>
        <button v-if="floor.hidden" type="button" class="doorway" data-hidden @click="$emit('pick', 'group', '', floor.by + '/')">{{ floor.hidden }}</button>
        <label class="map-by">by <select class="field" :value="floor.by" @change="$emit('group', $event.target.value)">
          <option v-for="by in ways" :key="by" :value="by">{{ by }}</option></select></label>
      </div>
    </div>`,
  data() {
    return {
      width: 600, height: 420, dense: 1, floor: { by: "host", rooms: [], links: [] }, leaving: [], rates: {}, at: "", near: "",
      signs: SIGNS, ways: ["host", "role", "community"],
    };
  },
  created() {
    this.badges = new Map();
    this.seating = new Map(); // by room: the seat of each agent, and how many seats there are
    this.traces = [];
    this.running = [];
    this.drawable = 0;
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  },
  mounted() {
    this.fit(); // before the first drawing, which would be made twice else
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.$refs.ground);
  },
  unmounted() {
    this.sizes.disconnect();
    clearTimeout(this.cleaning);
    this.clear();
  },
  computed: {
    drawn() {
      const places = rooms(this.floor.rooms.length, this.width, this.height);
      return this.floor.rooms.map((room, index) => {
        const place = places[index];
        const { taken, size } = this.sit(room);
        const { cell, places: free } = seats(size, place);
        const shown = [...taken.values()].filter((seat) => seat < free.length).length;
        const count = room.agents.length + room.more;
        return { ...room, ...place, cell, taken, seats: free, count, hidden: count - shown };
      });
    },
    agents() {
      const found = [];
      for (const room of this.drawn) {
        const r = Math.max(5, Math.min(17, room.cell * 0.28));
        room.agents.forEach(([id, name, role, host]) => {
          const seat = room.seats[room.taken.get(id)];
          if (seat) found.push({
            id,
            name,
            role,
            // Of many small ones that are nothing in particular the ring is sign enough.
            icon: r < SMALL && !ICONS[role] ? "" : this.icon(role),
            host,
            room: room.title,
            r,
            named: room.cell >= 52,
            ...seat,
          });
        });
      }
      const here = new Set(found.map((agent) => agent.id));
      found.push(...this.leaving.filter((agent) => !here.has(agent.id)));
      // In one order, whatever room they are in: who moves is the same element, and slides.
      return found.sort((one, other) => (one.id < other.id ? -1 : 1));
    },
    places() {
      return new Map(this.agents.map((agent) => [agent.id, agent]));
    },
    hint() {
      const agent = this.places.get(this.near);
      return agent && !agent.named ? agent : null;
    },
    roles() {
      return [...new Set(this.agents.map((agent) => agent.role))].filter((role) => role in ICONS).sort();
    },
    shared() {
      const inside = this.floor.by === "host" ? this.drawn.filter((room) => room.engaged) : [];
      if (inside.length < 2) return "";
      const x = Math.min(...inside.map((room) => room.x)) - 10;
      const y = Math.min(...inside.map((room) => room.y)) - 10;
      const right = Math.max(...inside.map((room) => room.x + room.w)) + 10;
      const low = Math.max(...inside.map((room) => room.y + room.h)) + 10;
      return `M${x + 14},${y}H${right - 14}Q${right},${y} ${right},${y + 14}V${low - 14}Q${right},${low} ${right - 14},${low}H${x + 14}Q${x},${low} ${x},${low - 14}V${y + 14}Q${x},${y} ${x + 14},${y}Z`;
    },
    links() {
      const byName = new Map(this.drawn.map((room) => [room.name, room]));
      return this.floor.links
        .filter(([one, other]) => byName.has(one) && byName.has(other))
        .map(([one, other]) => {
          const [a, b] = [byName.get(one), byName.get(other)];
          // Where two rooms face each other the line runs straight between them.
          const y = Math.max(a.y, b.y) < Math.min(a.y + a.h, b.y + b.h) ? (Math.max(a.y, b.y) + Math.min(a.y + a.h, b.y + b.h)) / 2 : null;
          const x = Math.max(a.x, b.x) < Math.min(a.x + a.w, b.x + b.w) ? (Math.max(a.x, b.x) + Math.min(a.x + a.w, b.x + b.w)) / 2 : null;
          return {
            key: `${one} ${other}`,
            x1: x ?? a.x + a.w / 2,
            y1: y ?? a.y + a.h / 2,
            x2: x ?? b.x + b.w / 2,
            y2: y ?? b.y + b.h / 2,
          };
        });
    },
  },
  methods: {
    grouped: window.nomospace.grouped,
    fit() {
      const ground = this.$refs.ground;
      if (!ground) return;
      this.width = ground.clientWidth;
      this.height = ground.clientHeight;
      this.dense = window.devicePixelRatio || 1;
      this.clear();
    },
    refused(room) {
      const rate = this.rates[room.name]?.[1] || 0;
      return rate >= 0.5 ? this.grouped(Math.round(rate)) : "";
    },
    said(room) {
      const rate = this.rates[room.name]?.[0] || 0;
      if (rate < 0.05) return "";
      return `${rate >= 10 ? this.grouped(Math.round(rate)) : rate.toFixed(1)} messages/s`;
    },
    // What fits into so many pixels of a name in any script; a click tells the whole of it.
    fitting(name, width) {
      const letters = [...name];
      const most = Math.max(3, Math.floor((width - 14) / LETTER));
      return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
    },
    pickOf(room) {
      return room.pick === "host" ? room.name : `${this.floor.by}/${room.name}`;
    },
    // Everybody keeps its seat, and a room that has had many seats keeps them.
    sit(room) {
      const key = `${this.floor.by} ${room.name}`;
      const before = this.seating.get(key) || { taken: [], size: 0 };
      const taken = seated(before.taken, room.agents.map(([id]) => id));
      const size = Math.max(before.size, 1, ...[...taken.values()].map((seat) => seat + 1));
      const found = { taken, size };
      this.seating.set(key, found);
      return found;
    },
    icon(role) {
      return ICONS[role] || "person";
    },
    draw(told, rates) {
      const known = (one, room) => (typeof one === "string" ? [one, one.split("@")[0], "", room] : one);
      const rooms = told.rooms.map((room) => ({ ...room, agents: room.agents.map((one) => known(one, room.name)) }));
      const floor = { ...told, rooms };
      const before = this.agents;
      if (floor.by !== this.floor.by) this.clear();
      this.floor = Object.freeze(floor); // it changes as a whole
      this.$nextTick(() => this.follow());
      this.rates = rates;
      // Who is nowhere may be on the way: it stays where it was a while, and slides when it arrives.
      const there = new Set(floor.rooms.flatMap((room) => room.agents.map(([id]) => id)));
      const until = performance.now() + AWAY_MS;
      this.leaving = Object.freeze(
        before
          .filter((agent) => !there.has(agent.id) && !(agent.until < performance.now()))
          .map((agent) => ({ ...agent, until: agent.until || until })),
      );
      clearTimeout(this.cleaning);
      if (this.leaving.length) {
        this.cleaning = setTimeout(() => (this.leaving = Object.freeze([])), AWAY_MS);
      }
      if (!this.at && floor.rooms.length) this.at = `host ${floor.rooms[0].name}`;
    },
    beat(rulings, rates, now) {
      this.rates = rates;
      this.fade();
      if (document.hidden) return;
      this.drawable = PULSES_MAX;
      for (const one of rulings) {
        const delay = Math.max(0, Math.min(250, (one[2] - now) / 1000 + 250));
        setTimeout(() => this.show(one), delay);
      }
    },
    // -- pulses --------------------------------------------------------------------------------
    show(ruling) {
      const [host, record, , home, kind, verdict, , , to] = ruling;
      const from = this.places.get(home);
      if (!from || !this.$refs.pulses) return;
      const pick = { kind: "ruling", host, id: record, verdict };
      if (verdict === "refused" || verdict === "held" || kind === "obligationDue") this.badge(from, pick);
      if (verdict === "refused" || verdict === "held") return;
      for (const name of to.slice(0, RECEIVERS_MAX)) {
        const target = this.places.get(name);
        if (target && target !== from) this.pulse(from, target, pick);
      }
    },
    pulse(from, to, pick) {
      if (this.drawable <= 0) return;
      this.drawable -= 1;
      const group = document.createElementNS(SVG, "g");
      group.setAttribute("class", `map-pulse ${pick.verdict}`);
      this.mark(group, pick);
      for (const name of ["map-hit", "map-trace"]) {
        const line = document.createElementNS(SVG, "line");
        line.setAttribute("class", name);
        for (const [key, place] of [[1, from], [2, to]]) {
          line.setAttribute(`x${key}`, place.x);
          line.setAttribute(`y${key}`, place.y);
        }
        group.append(line);
      }
      this.$refs.pulses.append(group);
      this.traces.push({ group, from, to, since: performance.now() });
      if (this.traces.length > TRACES_MAX) this.traces.shift().group.remove();
      if (this.calm.matches) return;
      const colour = getComputedStyle(group).color;
      this.running.push({ from, to, colour, since: performance.now() });
      if (this.running.length === 1) requestAnimationFrame(() => this.run());
    },
    // The lines pale in two steps and go, once a beat: a smooth fading would paint all of the map.
    fade() {
      const now = performance.now();
      while (this.traces.length && now - this.traces[0].since > TRACE_MS) this.traces.shift().group.remove();
      for (const { group, since } of this.traces) group.classList.toggle("old", now - since > TRACE_MS / 3);
    },
    // A line that leads to where somebody was is taken away.
    follow() {
      const moved = (was) => { const now = this.places.get(was.id); return !now || now.x !== was.x || now.y !== was.y; };
      const stale = (one) => moved(one.from) || moved(one.to);
      for (const one of this.traces.filter(stale)) one.group.remove();
      this.traces = this.traces.filter((one) => !stale(one));
      this.running = this.running.filter((one) => !stale(one));
    },
    run() {
      const canvas = this.$refs.dots;
      if (!canvas) return;
      const now = performance.now();
      const pen = canvas.getContext("2d");
      pen.setTransform(this.dense, 0, 0, this.dense, 0, 0);
      pen.clearRect(0, 0, this.width, this.height);
      this.running = this.running.filter((one) => now - one.since < TRAVEL_MS);
      for (const { from, to, colour, since } of this.running) {
        const part = (now - since) / TRAVEL_MS;
        const way = part * part * (3 - 2 * part);
        pen.beginPath();
        pen.arc(from.x + (to.x - from.x) * way, from.y + (to.y - from.y) * way, 4.5, 0, 7);
        pen.fillStyle = colour;
        pen.fill();
      }
      if (this.running.length) requestAnimationFrame(() => this.run());
    },
    badge(from, pick) {
      const key = `${from.id} ${pick.verdict}`;
      let badge = this.badges.get(key);
      if (!badge?.group.isConnected) {
        const group = document.createElementNS(SVG, "g");
        group.setAttribute("class", `map-badge ${pick.verdict}`);
        group.setAttribute("transform", `translate(${from.x + from.r},${from.y - from.r})`);
        const ground = document.createElementNS(SVG, "rect");
        const text = document.createElementNS(SVG, "text");
        group.append(ground, text);
        this.$refs.badges.append(group);
        badge = { group, ground, text, count: 0 };
        this.badges.set(key, badge);
      }
      badge.count += 1;
      badge.text.textContent = badge.count > 1 ? `${SIGNS[pick.verdict]} ${badge.count}` : SIGNS[pick.verdict];
      const wide = 16 + 7 * (badge.text.textContent.length - 1);
      const box = { x: -8, y: -8, width: wide, height: 16, rx: 8 };
      for (const [name, value] of Object.entries(box)) badge.ground.setAttribute(name, value);
      badge.text.setAttribute("x", wide / 2 - 8);
      this.mark(badge.group, pick);
      clearTimeout(badge.timer);
      badge.timer = setTimeout(() => {
        badge.group.remove();
        this.badges.delete(key);
      }, BADGE_MS);
    },
    mark(group, pick) {
      group.dataset.pick = pick.kind;
      group.dataset.host = pick.host;
      group.dataset.id = pick.id;
    },
    clear() {
      this.traces = [];
      this.running = [];
      this.badges.clear();
      this.$refs.pulses?.replaceChildren();
      this.$refs.badges?.replaceChildren();
    },
    // A name that there is no room for is written above all when one points at its sign, or walks to it.
    over(event) {
      this.near = event.target.closest(".map-agent")?.dataset.id || "";
    },
    // -- choosing ------------------------------------------------------------------------------
    click(event) {
      this.choose(event.target.closest("[data-pick]"));
    },
    choose(item) {
      if (item) this.$emit("pick", item.dataset.pick, item.dataset.host || "", item.dataset.id);
    },
    key(event) {
      const item = event.target.closest("[data-item]");
      if (!item) return;
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.choose(item);
        return;
      }
      const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
      if (!way) return;
      event.preventDefault();
      const here = this.middle(item);
      let best = null;
      for (const other of this.$refs.svg.querySelectorAll("[data-item]")) {
        const there = this.middle(other);
        const [dx, dy] = [there.x - here.x, there.y - here.y];
        const along = dx * way[0] + dy * way[1];
        const aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
        if (other !== item && along > 2 && (!best || along + 2 * aside < best.far)) best = { other, far: along + 2 * aside };
      }
      best?.other.focus();
    },
    middle(item) {
      const box = item.getBoundingClientRect();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    },
  },
};
