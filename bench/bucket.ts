import { AwsClient } from "aws4fetch";
import type { StackInfo } from "../local/stack.ts";

/** Reads the local stack's bucket over S3, as a reader of exports does. */
export function bucketOf({ s3 }: StackInfo) {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = s3;
  const client = new AwsClient({ accessKeyId, secretAccessKey, region: s3.region, service: "s3" });

  async function get(path: string): Promise<Response> {
    const answer = await client.fetch(`${s3.endpoint}/${s3.bucket}/${path}`);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  return {
    async keys(prefix: string): Promise<string[]> {
      const text = await (await get(`?list-type=2&prefix=${encodeURIComponent(prefix)}`)).text();
      return [...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key ?? "");
    },
    async bytes(key: string): Promise<Uint8Array> {
      return (await get(key.split("/").map(encodeURIComponent).join("/"))).bytes();
    },
  };
}
