const MOST_KEYS = 1000; // of one call of R2

/** Deletes some of what R2 has below a prefix; true once there is nothing. */
export async function deleteBelow(bucket: R2Bucket, prefix: string): Promise<boolean> {
  const { objects, truncated } = await bucket.list({ prefix, limit: MOST_KEYS });
  if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
  return !truncated;
}
