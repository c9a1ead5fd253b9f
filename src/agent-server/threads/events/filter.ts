import { CHANNELS, type Channel, type ProtocolEvent } from "./event.ts";

export type EventFilter = {
  channels: string[];
  /** Prefixes of namespaces, `null` for all namespaces. */
  namespaces: string[][] | null;
  /** Maximum number of levels below a prefix, `null` for any. */
  depth: number | null;
};

/** Returns the channels that at least one filter includes: `custom` for `custom:<name>`. */
export function channelsOf(filters: EventFilter[]): ReadonlySet<Channel> {
  const names = filters.flatMap(({ channels }) => channels.map((name) => name.split(":")[0]));
  return new Set(CHANNELS.filter((channel) => names.includes(channel)));
}

export function isWanted(
  { channel, namespace }: Pick<ProtocolEvent, "channel" | "namespace">,
  { channels, namespaces, depth }: EventFilter,
): boolean {
  const isOfChannel =
    channels.includes(channel) || (channel.startsWith("custom:") && channels.includes("custom"));
  if (!isOfChannel) return false;
  // Without prefixes the depth has no effect, as in the published clients.
  if (namespaces === null || namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      isBelow(namespace, prefix) && (depth === null || namespace.length - prefix.length <= depth),
  );
}

/** A segment of the prefix without a colon is the name of a node, and matches each of its tasks. */
function isBelow(namespace: string[], prefix: string[]): boolean {
  if (prefix.length > namespace.length) return false;
  return prefix.every((wanted, n) => {
    const segment = namespace[n] ?? "";
    return segment === wanted || (!wanted.includes(":") && segment.split(":")[0] === wanted);
  });
}
