export type BucketReads = { calls: number; bytes: number };

/** Reads of all buckets of the isolate since the last `takeReads`. */
let reads: BucketReads = { calls: 0, bytes: 0 };

export function takeReads(): BucketReads {
  const taken = reads;
  reads = { calls: 0, bytes: 0 };
  return taken;
}

/** The bindings of the Worker, with a bucket that counts what is read of it. */
export function withCountedBucket(env: Env): Env {
  return Object.create(env, { ARTIFACTS: { value: countedBucket(env.ARTIFACTS) } });
}

function countedBucket(bucket: R2Bucket): R2Bucket {
  const get = async (key: string, options?: R2GetOptions) => {
    const object = await bucket.get(key, options);
    reads.calls += 1;
    const range = options?.range;
    const length = range && "length" in range ? range.length : undefined;
    reads.bytes += object === null ? 0 : (length ?? object.size);
    return object;
  };
  return new Proxy(bucket, {
    get(target, name) {
      if (name === "get") return get;
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
