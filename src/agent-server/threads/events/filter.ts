import { CHANNELS, type Channel, type ProtocolEvent } from "./event.ts";

export type EventFilter = {
  channels: string[];
  /** Prefixes; null: all. */
  namespaces: string[][] | null;
  /** How far below one of the prefixes; null: however far. */
  depth: number | null;
};

/** The kinds of events that a reader with these filters has to be told of. */
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
  // Without a prefix there is nothing to be below of: clients leave the depth out of account, too.
  if (namespaces === null || namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      isBelow(namespace, prefix) && (depth === null || namespace.length - prefix.length <= depth),
  );
}

/** A segment without a colon also stands for each task of that node. */
function isBelow(namespace: string[], prefix: string[]): boolean {
  if (prefix.length > namespace.length) return false;
  return prefix.every((wanted, n) => {
    const segment = namespace[n] ?? "";
    return segment === wanted || (!wanted.includes(":") && segment.split(":")[0] === wanted);
  });
}
