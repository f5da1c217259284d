"""The one style sheet: light and dark by the reader's own setting, from 360 px upwards."""

from typing import Final

STYLE: Final = """
:root{--bg:#fbfbfa;--fg:#1c1e21;--dim:#5d646d;--rule:#d9dce0;--card:#fff;--bad:#b3261e;
--bad-bg:#fbe9e7;--good:#1b6e3c;--good-bg:#e6f4ea;--wait:#7a5200;--wait-bg:#fdf1d8;--line:#2458a6}
@media(prefers-color-scheme:dark){:root{--bg:#15171a;--fg:#e6e8ea;--dim:#9aa2ab;--rule:#33383e;
--card:#1d2024;--bad:#ff9d94;--bad-bg:#43201d;--good:#8bd5a3;--good-bg:#173322;--wait:#f1c979;
--wait-bg:#3b2f13;--line:#8db4f0}}
*{box-sizing:border-box}
body{margin:0;padding:1rem;background:var(--bg);color:var(--fg);
font:15px/1.45 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
main{max-width:1560px;margin:0 auto}
h1{font-size:1.35rem;margin:0 .6rem 0 0;display:inline-block}
h2{font-size:1.05rem;margin:1.6rem 0 .5rem}
p,li,h1,h2{overflow-wrap:anywhere}p{margin:.3rem 0}.dim,.none{color:var(--dim)}
a{color:var(--line)}
.alarm{background:var(--bad-bg);color:var(--bad);padding:.5rem .7rem;border-radius:6px}
.tiles{display:flex;flex-wrap:wrap;gap:.5rem;margin:.8rem 0}
.tile{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:.4rem .8rem}
.tile b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--rule);
border-radius:8px}
th,td{text-align:left;padding:.35rem .6rem;border-top:1px solid var(--rule);vertical-align:top;
overflow-wrap:anywhere}
th{font-weight:600;color:var(--dim);font-size:.85rem;border-top:0;white-space:nowrap}
.tag{display:inline-block;padding:0 .45rem;border-radius:4px;white-space:nowrap;
background:var(--rule)}
.tag.bad{background:var(--bad-bg);color:var(--bad)}
.tag.good{background:var(--good-bg);color:var(--good)}
.tag.wait{background:var(--wait-bg);color:var(--wait)}
ul.verdicts{list-style:none;margin:0;padding:0}
svg{max-width:100%;height:auto;display:block}
svg text{fill:var(--dim);font-size:11px}.wide{overflow-x:auto}
svg.plot{min-width:520px;margin:.4rem 0}
.scale{display:block;color:var(--dim);font-size:.75rem;white-space:nowrap}
.line{fill:none;stroke:var(--line);stroke-width:1.5;stroke-linecap:round}
.baseline{stroke:var(--dim);stroke-dasharray:4 3}
.axis{fill:none;stroke:var(--rule)}
.bar,.dot{fill:var(--line)}.dot{opacity:.55}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.4rem 0}
dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
@media(max-width:720px){
table,tbody,tr,td{display:block;width:100%}thead{display:none}
tr{border-top:1px solid var(--rule);padding:.4rem 0}tr:first-child{border-top:0}
td{border:0;padding:.12rem .7rem;display:grid;grid-template-columns:6.5rem minmax(0,1fr);gap:.5rem;
white-space:normal}
td::before{content:attr(data-l);color:var(--dim);font-size:.85rem}
td:has(>span:empty){display:none}.tag{white-space:normal}
dl{grid-template-columns:1fr}}
"""
