/** Texts that try to be more than text. */

/** Each would set `window.attacked`, load something or change the page, if it were not shown as text. */
export const HOSTILE_TEXTS: readonly string[] = [
  `<script>window.attacked=1</script>`,
  `<img src=x onerror="window.attacked=1">`,
  `<svg onload="window.attacked=1"><animate onbegin="window.attacked=1" attributeName=x dur=1s>`,
  `"><iframe srcdoc="<script>parent.attacked=1</script>"></iframe>`,
  `'-window.attacked=1-'`,
  `</title><script>window.attacked=1</script>`,
  `<style>@import url("http://attacker.invalid/x.css"); body{display:none}</style>`,
  `<link rel=stylesheet href="http://attacker.invalid/x.css">`,
  `<form action="javascript:window.attacked=1"><button id=root name=body>press</button></form>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.attacked=1&gt;">`,
  `<a href="javascript:window.attacked=1">link</a>`,
  `[link](javascript:window.attacked=1)`,
  `[link](jAvAsCrIpT:window.attacked=1 "title")`,
  `[link](data:text/html,<script>parent.attacked=1</script>)`,
  `![picture](http://attacker.invalid/pixel.png)`,
  `![picture](x" onerror="window.attacked=1)`,
  `<http://attacker.invalid/" onmouseover="window.attacked=1>`,
  "```html\n<script>window.attacked=1</script>\n```",
  `| a | <img src=x onerror=window.attacked=1> |\n|---|---|\n| b | c |`,
  `{{constructor.constructor('window.attacked=1')()}} \${window.attacked=1}`,
  `\u001b]8;;javascript:window.attacked=1\u0007link\u001b]8;;\u0007 \u001b[31mred\u001b[0m \u001b[2J`,
  `\u0000\u0007\u0008\u007f\u009b31m`,
  `safe\u202e txt.exe \u2066hidden\u2069 \u200b\u200d\ufeff \u{e0041}\u{e0042}`,
  `${"long".repeat(400)}`,
  `%3Cscript%3Ewindow.attacked=1%3C/script%3E &lt;script&gt;window.attacked=1&lt;/script&gt; &#x3C;script&#x3E;`,
  `__proto__ constructor toString hasOwnProperty`,
];

/** The texts that fit into one line, for titles and names. */
export const HOSTILE_LINES = HOSTILE_TEXTS.map((text) => text.replaceAll("\n", " "));

/** All of them in one text. */
export const HOSTILE_TEXT = HOSTILE_TEXTS.join("\n\n");
