/** Part of AWS with its own accounts: its name in ARNs, and the domain of its hosts. */
export type Partition = { name: string; domain: string };

const COMMERCIAL: Partition = { name: "aws", domain: "amazonaws.com" };
/** Partitions by the prefix of their regions, from botocore's `partitions.json`. */
const BY_PREFIX: Record<string, Partition> = {
  "cn-": { name: "aws-cn", domain: "amazonaws.com.cn" },
  "eusc-": { name: "aws-eusc", domain: "amazonaws.eu" },
  "us-gov-": { name: "aws-us-gov", domain: "amazonaws.com" },
};

export function partitionOf(region: string): Partition {
  const found = Object.entries(BY_PREFIX).find(([prefix]) => region.startsWith(prefix));
  return found?.[1] ?? COMMERCIAL;
}
