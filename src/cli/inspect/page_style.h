// Style and script of the page that `tegula inspect --html` writes.
#pragma once

namespace tegula::cli {

inline constexpr const char* kPageStyle = R"(
body { font: 14px/1.4 system-ui, sans-serif; margin: 16px; color: #1b1f24; background: #fff; }
h1 { font-size: 20px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 20px 0 6px; }
.note { color: #57606a; margin: 0 0 8px; }
.array { display: flex; gap: 16px; align-items: flex-start; }
.array svg { flex: none; border: 1px solid #d0d7de; }
.side { flex: 1; min-width: 260px; max-height: 760px; overflow: auto; }
.stream { display: block; width: 100%; text-align: left; font: 12px ui-monospace, monospace; margin: 1px 0; padding: 2px 6px;
  border: 1px solid #d0d7de; border-radius: 4px; background: #f6f8fa; cursor: pointer; }
.stream.on { background: #ddf4ff; border-color: #0969da; }
.tile { stroke: #57606a; cursor: pointer; } .tile.on { stroke: #0969da; stroke-width: 3; }
.label { font: 10px system-ui, sans-serif; fill: #1b1f24; pointer-events: none; }
.route { fill: none; stroke-width: 1; opacity: .6; pointer-events: none; }
.picking .route { opacity: .06; } .picking .route.on { opacity: 1; stroke-width: 2.4; }
pre { font: 12px/1.35 ui-monospace, monospace; background: #f6f8fa; padding: 8px; border-radius: 6px; overflow: auto; }
.swatch { display: inline-block; width: 12px; height: 12px; border: 1px solid #57606a; vertical-align: -1px; margin: 0 4px 0 12px; }
.scroll { overflow-x: auto; border: 1px solid #d0d7de; }
table { border-collapse: collapse; } td, th { border: 1px solid #d0d7de; padding: 2px 8px; text-align: left; font-size: 12px; }
)";

// A click on a stream marks its routes, a click on a tile shows its setup.
inline constexpr const char* kPageScript = R"(
for (const section of document.querySelectorAll('.array')) {
  const svg = section.querySelector('svg');
  const marks = id => svg.querySelectorAll('.route[data-stream="' + id + '"]');
  for (const button of section.querySelectorAll('.stream')) button.onclick = () => {
    button.classList.toggle('on');
    for (const route of svg.querySelectorAll('.route.on')) route.classList.remove('on');
    const on = section.querySelectorAll('.stream.on');
    for (const b of on) for (const id of b.dataset.streams.split(' ')) for (const r of marks(id)) r.classList.add('on');
    svg.classList.toggle('picking', on.length > 0);
  };
  for (const tile of svg.querySelectorAll('.tile')) tile.onclick = () => {
    for (const other of svg.querySelectorAll('.tile.on')) other.classList.remove('on');
    tile.classList.add('on');
    for (const pre of section.parentNode.querySelectorAll('pre.setup')) pre.hidden = pre.dataset.tile !== tile.dataset.tile;
  };
}
)";

}  // namespace tegula::cli
