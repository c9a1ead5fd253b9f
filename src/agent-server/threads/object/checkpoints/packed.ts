type Entry = { data: Uint8Array };

const LENGTH_BYTES = 4;

/** Packs entries into one BLOB: the length of a JSON list of their fields, the list, then their data. */
export function pack<T extends Entry>(entries: T[]): Uint8Array {
  if (entries.length === 0) return new Uint8Array();
  const fields = entries.map(({ data, ...rest }) => ({ ...rest, bytes: data.byteLength }));
  const head = new TextEncoder().encode(JSON.stringify(fields));
  const size = entries.reduce((sum, { data }) => sum + data.byteLength, 0);
  const blob = new Uint8Array(LENGTH_BYTES + head.byteLength + size);
  new DataView(blob.buffer).setUint32(0, head.byteLength);
  blob.set(head, LENGTH_BYTES);
  let at = LENGTH_BYTES + head.byteLength;
  for (const { data } of entries) {
    blob.set(data, at);
    at += data.byteLength;
  }
  return blob;
}

/** Returns entries with copies of their data: RPC would send the whole buffer that a part belongs to. */
export function unpack<T extends Entry>(blob: Uint8Array | null | undefined): T[] {
  if (!blob?.byteLength) return [];
  const length = new DataView(blob.buffer, blob.byteOffset).getUint32(0);
  let at = LENGTH_BYTES + length;
  const head = new TextDecoder().decode(blob.subarray(LENGTH_BYTES, at));
  const fields = JSON.parse(head) as (Omit<T, "data"> & { bytes: number })[];
  return fields.map(({ bytes, ...rest }) => {
    const data = blob.slice(at, at + bytes);
    at += bytes;
    return { ...rest, data } as unknown as T;
  });
}
