/** Style of the HTML export; colours follow the reader's scheme. */
export const htmlStyle = `
:root{color-scheme:light dark;--bad:#b3261e;--warn:#8a5a00;--good:#1b6e3c;--dim:#667;--line:#8884;--soft:#8881}
@media (prefers-color-scheme:dark){:root{--bad:#ff8a80;--warn:#f2c14e;--good:#7bd88f;--dim:#99a}}
body{font:15px/1.5 system-ui,sans-serif;margin:0}
main{max-width:60rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}h2{margin-top:2rem}h3{margin:1.5rem 0 .5rem}h4{margin:0 0 .25rem;overflow-wrap:anywhere}
.meta,.dim,figcaption{color:var(--dim);font-size:.85rem;overflow-wrap:anywhere}
table{border-collapse:collapse;margin:.5rem 0}th,td{padding:.25rem .75rem .25rem 0;text-align:left;border-bottom:1px solid var(--line)}.number{text-align:right;font-variant-numeric:tabular-nums}
.verdict{font-weight:600}.ready{color:var(--good)}.blocked{color:var(--bad)}.unknown{color:var(--warn)}
article{border-left:4px solid var(--line);background:var(--soft);padding:.6rem .9rem;margin:.6rem 0;break-inside:avoid}
article.blocker{border-color:var(--bad)}article.warning{border-color:var(--warn)}
article p{margin:.25rem 0}.fix::before{content:"Fix: ";font-weight:600}
ul{margin:.25rem 0;padding-left:1.25rem}li{overflow-wrap:anywhere}code{font-size:.9em}.note{color:var(--warn)}figure{margin:1rem 0}
@media print{main{max-width:none;padding:0}a{color:inherit}}
`.trim();
