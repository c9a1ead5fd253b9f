/** Escapes of encodeURIComponent that a path segment does not need: `$`, `&`, `+`, `,`, `:`, `;`, `=`, `@`. */
const ESCAPED_IN_VAIN = /%(?:24|26|2B|2C|3A|3B|3D|40)/g;

/**
 * Returns the canonical path: without dot segments, and with escapes only where a character needs one.
 * @returns `null` for an empty segment inside the path, and for an escape that is not UTF-8.
 */
export function canonicalPath(url: string): string | null {
  const segments = new URL(url).pathname.slice(1).split("/");
  if (segments.slice(0, -1).includes("")) return null;
  try {
    return `/${segments.map(canonicalSegment).join("/")}`;
  } catch {
    return null;
  }
}

function canonicalSegment(segment: string): string {
  return encodeURIComponent(decodeURIComponent(segment)).replace(
    ESCAPED_IN_VAIN,
    decodeURIComponent,
  );
}
