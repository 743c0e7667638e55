"use strict";
(() => {
  const root = document.documentElement;
  for (const [id, tag] of [["lang-en", "en"], ["lang-zh", "zh-CN"]]) {
    document.getElementById(id).addEventListener("change", () => {
      root.lang = tag;
      for (const option of document.querySelectorAll("option[data-en]")) {
        option.textContent = option.dataset[tag.slice(0, 2)];
      }
    });
  }

  const clock = (seconds, dated) => {
    const text = new Date(seconds * 1000).toISOString();
    return (dated ? text.slice(5, 10) + " " : "") + text.slice(11, 19);
  };

  const enliven = (section) => {
    const tools = section.querySelector(".tools");
    const lanes = section.querySelector(".lanes");
    if (!tools || !lanes) return;
    tools.hidden = false;
    const filters = [...tools.querySelectorAll("select")];
    const rows = [...lanes.querySelectorAll(".lane[data-status]")];
    const count = tools.querySelector(".count");

    const filter = () => {
      const wanted = filters.filter((f) => f.value).map((f) => [f.dataset.filter, f.value]);
      let shown = 0;
      for (const row of rows) {
        row.hidden = !wanted.every(([name, value]) => row.dataset[name] === value);
        shown += row.hidden ? 0 : 1;
      }
      for (const fate of lanes.querySelectorAll(".fate")) {
        const own = [...fate.querySelectorAll(".lane[data-status]")];
        fate.hidden = own.length > 0 && own.every((row) => row.hidden);
        if (wanted.length && !fate.hidden && !fate.open) {
          fate.open = true;
          fate.dataset.unfolded = "";
        } else if (!wanted.length && "unfolded" in fate.dataset) {
          fate.open = false;
          delete fate.dataset.unfolded;
        }
      }
      count.textContent = wanted.length ? shown + " / " + rows.length : "";
    };
    for (const select of filters) select.addEventListener("change", filter);

    const first = Number(lanes.dataset.first);
    const last = Number(lanes.dataset.last);
    const ticks = [...lanes.querySelectorAll(".ticks span")];
    const dated = last - first > 86400;
    let from = 0;
    let width = 1;
    const draw = () => {
      width = Math.min(1, Math.max(0.001, width));
      from = Math.min(1 - width, Math.max(0, from));
      const box = [from * 1000, 0, width * 1000, 20].join(" ");
      for (const svg of lanes.querySelectorAll("svg.life")) svg.setAttribute("viewBox", box);
      ticks.forEach((tick, n) => {
        const share = from + (width * n) / (ticks.length - 1);
        tick.textContent = clock(first + (last - first) * share, dated);
      });
    };
    const acts = {
      in: () => { from += width / 4; width /= 2; },
      out: () => { from -= width / 2; width *= 2; },
      left: () => { from -= width / 2; },
      right: () => { from += width / 2; },
      end: () => { width = 0.1; from = 0.9; },
      all: () => { from = 0; width = 1; },
    };
    for (const button of tools.querySelectorAll("button")) {
      button.addEventListener("click", () => { acts[button.dataset.zoom](); draw(); });
    }
  };
  for (const section of document.querySelectorAll("section")) enliven(section);

  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not(.fate)")) part.open = true;
  });
})();
