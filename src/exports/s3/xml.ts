/** Minimal reader of S3's XML: elements by local name. */

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const OPEN = /<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)(?:\s[^<>]*)?\/?>/g;

/** Returns the inner text of each element of a name. Elements of one name do not nest in S3's answers. */
export function readElements(xml: string, name: string): string[] {
  const found: string[] = [];
  for (let at = 0; ; ) {
    const open = nextOpen(xml, name, at);
    if (open === null) return found;
    const close = endOf(xml, open.tag, open.end);
    if (close === null) return found;
    found.push(xml.slice(open.end, close));
    at = close;
  }
}

export function readText(xml: string, name: string): string | null {
  const inner = readElements(xml, name)[0];
  return inner === undefined ? null : unescapeXml(inner).trim();
}

/** Returns the outermost element's name, `null` when the text is not XML. */
export function rootName(xml: string): string | null {
  OPEN.lastIndex = 0;
  return /^\s*</.test(xml) ? (OPEN.exec(xml)?.[1] ?? null) : null;
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function nextOpen(xml: string, name: string, from: number): { tag: string; end: number } | null {
  OPEN.lastIndex = from;
  for (let match = OPEN.exec(xml); match !== null; match = OPEN.exec(xml)) {
    if (match[1] !== name || match[0].endsWith("/>")) continue;
    return { tag: match[0].slice(1).split(/[\s>]/)[0] ?? name, end: OPEN.lastIndex };
  }
  return null;
}

function endOf(xml: string, tag: string, from: number): number | null {
  const close = `</${tag}`;
  for (let at = xml.indexOf(close, from); at >= 0; at = xml.indexOf(close, at + 1)) {
    if (/^\s*>/.test(xml.slice(at + close.length, at + close.length + 8))) return at;
  }
  return null;
}

function unescapeXml(text: string): string {
  const plain = text.replace(/<!\[CDATA\[(.*?)\]\]>/gs, (_whole, inner: string) =>
    inner.replaceAll("&", "&amp;"),
  );
  return plain.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (whole, ...groups) => {
    const [decimal, hex, named] = groups;
    if (named !== undefined) return NAMED[String(named).toLowerCase()] ?? whole;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
