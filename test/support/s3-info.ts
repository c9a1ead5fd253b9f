export type Keys = { access_key_id: string; secret_access_key: string };

/** The S3 server of a test run. */
export type S3Info = Keys & {
  endpoint: string;
  region: string;
  bucket: string;
  /** A user of the same server that may not use the bucket. */
  other: Keys;
  /** Where keys of the bucket's owner are made and revoked; null: this server has no such place. */
  key_desk: string | null;
};

declare module "vitest" {
  interface ProvidedContext {
    s3: S3Info;
    /** A DNS-over-HTTPS resolver: test/support/node/dns-server.ts. */
    dns_url: string;
    /** A receiver of webhooks: test/support/node/receiver.ts. */
    receiver_url: string;
  }
}
