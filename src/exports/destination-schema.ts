import { z } from "@hono/zod-openapi";
import { CreatedAt, HttpUrl, namedObject, textField, UpdatedAt, Uuid } from "../shared/schema.ts";
import { bucketProblem, endpointProblem, prefixProblem } from "./config-rules.ts";
import { DestinationCredentials } from "./credentials-schema.ts";
import { toPutHeaders } from "./s3/put-arguments.ts";

const S3Kwargs = z.object({
  addressing_style: z
    .enum(["auto", "virtual", "path"])
    .nullable()
    .default(null)
    .describe("Position of the bucket in URLs: in the host name or in the path. Default: `auto`"),
  use_accelerate_endpoint: z
    .boolean()
    .nullable()
    .default(null)
    .describe("Whether to use S3 Transfer Acceleration"),
  payload_signing_enabled: z
    .boolean()
    .nullable()
    .default(null)
    .describe("Whether to sign payloads over https too. Over http they are always signed"),
  us_east_1_regional_endpoint: z
    .enum(["regional", "legacy"])
    .nullable()
    .default(null)
    .describe("Endpoint in `us-east-1`: its own, or the global one. Default: `regional`"),
});

const PutArguments = z.record(z.string(), z.unknown()).superRefine((kwargs, ctx) => {
  for (const { path, message } of toPutHeaders(kwargs).issues) {
    ctx.addIssue({ code: "custom", path, message });
  }
});

const Config = z.object({
  endpoint_url: HttpUrl.nullable()
    .default(null)
    .describe("URL of the S3 server, without bucket and path. Default: AWS"),
  prefix: z
    .string()
    .max(2048)
    .nullable()
    .transform((prefix) => prefix ?? "")
    .default("")
    .openapi({ type: "string" })
    .openapi({ description: "Prefix of the object keys, at most 600 bytes", example: "traces" }),
  bucket_name: z
    .string()
    .min(3)
    .max(63)
    .openapi({ description: "Name of the bucket: 3 to 63 characters", example: "acme-traces" }),
  region: z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/, "must be a region such as eu-west-1")
    .nullable()
    .default(null)
    .describe("Region of the bucket"),
  s3_additional_kwargs: PutArguments.nullable()
    .default(null)
    .describe("Arguments of `PutObject` for every object"),
  config_kwargs_s3: S3Kwargs.nullable().default(null).describe("Options of the S3 client"),
  include_bucket_in_prefix: z
    .boolean()
    .nullable()
    .transform((value) => value ?? false)
    .default(false)
    .openapi({
      type: "boolean",
      description: "Whether object keys begin with the name of the bucket",
    }),
  aws_role_arn: z
    .null({ error: "is not supported: use the credentials of a user or a session" })
    .default(null)
    .describe("Not supported: use `credentials`"),
});

export const DestinationConfig = Config.openapi("BulkExportDestinationConfig");
export type DestinationConfig = z.infer<typeof DestinationConfig>;

const NewConfig = Config.superRefine((config, ctx) => {
  const problems = {
    bucket_name: bucketProblem(config.bucket_name),
    endpoint_url: endpointProblem(config.endpoint_url, config.bucket_name),
    prefix: prefixProblem(config.prefix),
  };
  for (const [field, message] of Object.entries(problems)) {
    if (message !== null) ctx.addIssue({ code: "custom", path: [field], message });
  }
}).openapi("BulkExportDestinationConfigCreate");

export const DestinationCreateRequest = namedObject("BulkExportDestinationCreate", {
  destination_type: z.literal("s3").default("s3").describe("Kind of the storage"),
  display_name: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[a-zA-Z0-9\-_ ']+$/, "must contain only letters, digits, spaces, hyphens, _ and '")
    .openapi({ description: "Name for display", example: "Data lake" }),
  config: NewConfig.describe("Bucket and how to write to it"),
  credentials: DestinationCredentials.describe("Credentials of the bucket"),
});
export type DestinationCreateRequest = z.infer<typeof DestinationCreateRequest>;

export const DestinationPatchRequest = z
  .strictObject(
    { credentials: DestinationCredentials.describe("Credentials of the bucket") },
    {
      error: ({ code }) =>
        code === "unrecognized_keys"
          ? "only credentials can change: create another destination for another name or config"
          : undefined,
    },
  )
  .openapi("BulkExportDestinationUpdate");
export type DestinationPatchRequest = z.infer<typeof DestinationPatchRequest>;

export const Destination = namedObject("BulkExportDestination", {
  id: Uuid.describe("Id of the destination"),
  tenant_id: Uuid.describe("Id of the workspace"),
  destination_type: z.literal("s3").describe("Kind of the storage"),
  display_name: textField("Name for display", "Data lake"),
  config: DestinationConfig.describe("Bucket and how to write to it"),
  credentials_keys: z.array(z.string()).openapi({
    description: "Names of the stored credentials",
    example: ["access_key_id", "secret_access_key"],
  }),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
});
export type Destination = z.infer<typeof Destination>;

export const DestinationProbeRequest = DestinationCreateRequest.omit({
  display_name: true,
}).openapi("BulkExportDestinationProbeCreate");
export type DestinationProbeRequest = z.infer<typeof DestinationProbeRequest>;

const Right = z.object({
  right: textField("Action of S3", "s3:PutObject"),
  is_required: z.boolean().describe("Whether exports fail without it"),
  needed_for: textField("What exports use it for", "writing files and markers"),
  status: z
    .enum(["granted", "refused", "not_checked"])
    .describe("Result. `not_checked` when an earlier check failed"),
  error: z.string().nullable().describe("Code and text of the error, `null` without one"),
  remedy: z.string().nullable().describe("How to correct the error, `null` without one"),
});

const Statement = z.object({
  Effect: textField("Effect", "Allow"),
  Action: z
    .union([z.string(), z.array(z.string())])
    .openapi({ description: "Actions of S3", example: ["s3:PutObject"] }),
  Resource: textField("Objects or bucket", "arn:aws:s3:::acme-traces/exports/*"),
});

export const DestinationProbe = namedObject("BulkExportDestinationProbe", {
  is_usable: z.boolean().describe("Whether all required rights are granted"),
  addressing_style: z
    .enum(["virtual", "path"])
    .nullable()
    .describe("Position of the bucket in URLs that works, `null` when none does"),
  rights: z.array(Right).describe("Result for each right"),
  leftovers: z.array(z.string()).openapi({
    description: "Keys of objects and open uploads that could not be deleted",
    example: [],
  }),
  policy: z
    .object({
      Version: textField("Version of the policy language", "2012-10-17"),
      Statement: z.array(Statement).describe("What the policy allows"),
    })
    .describe("Policy of AWS IAM that grants all rights"),
});
export type DestinationProbe = z.infer<typeof DestinationProbe>;

export const DestinationPath = z.object({ destination_id: Uuid.describe("Id of the destination") });
