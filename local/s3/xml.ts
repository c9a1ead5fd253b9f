const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";
const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

export function escapeXml(text: string | number): string {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Returns `<name>text</name>` for each entry, in order. */
export function elements(entries: Record<string, string | number | boolean>): string {
  return Object.entries(entries)
    .map(([name, value]) => `<${name}>${escapeXml(String(value))}</${name}>`)
    .join("");
}

export function xmlDocument(name: string, inner: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} xmlns="${NAMESPACE}">${inner}</${name}>`;
}

/** Returns the inner text of each `<name>` element. No element of a body that S3 takes has the same name inside it. */
export function readElements(xml: string, name: string): string[] {
  const pattern = new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, "g");
  return [...xml.matchAll(pattern)].map(([, inner = ""]) => inner);
}

export function readText(xml: string, name: string): string | undefined {
  const inner = readElements(xml, name)[0];
  return inner === undefined ? undefined : unescapeXml(inner);
}

function unescapeXml(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(amp|lt|gt|quot|apos));/gi, (whole, ...groups) => {
    const [decimal, hex, named] = groups;
    if (decimal) return String.fromCodePoint(Number(decimal));
    if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
    return NAMED[String(named).toLowerCase()] ?? whole;
  });
}
