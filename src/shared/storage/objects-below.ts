/** R2 lists and deletes at most 1000 keys in a call. */
const MAX_KEYS = 1000;

/** Deletes one page of objects below a prefix. Returns whether none remain. */
export async function deleteBelow(bucket: R2Bucket, prefix: string): Promise<boolean> {
  const { objects, truncated } = await bucket.list({ prefix, limit: MAX_KEYS });
  if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  return !truncated;
}
