/** The switches as a region has them; the other tests, like the local stack, reach loopback. */
export const PUBLIC_ONLY = {
  EGRESS_PRIVATE_BUILDS: "false",
  EGRESS_PRIVATE_EXPORTS: "false",
  EGRESS_PRIVATE_WEBHOOKS: "false",
  EGRESS_PRIVATE_OAUTH: "false",
} as const;
