const MOST_KEYS = 1000; // of one call of R2

/** Deletes one page of objects below a prefix. Returns whether none remain. */
export async function deleteBelow(bucket: R2Bucket, prefix: string): Promise<boolean> {
  const { objects, truncated } = await bucket.list({ prefix, limit: MOST_KEYS });
  if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  return !truncated;
}
