import { Field, Optional } from "../ui/form/field.tsx";
import type { BucketDraft } from "./draft.ts";

type Props = { draft: BucketDraft; onChange: (change: Partial<BucketDraft>) => void };

/** Fields of a bucket and of the credentials that write to it. */
export function BucketFields({ draft, onChange }: Props) {
  const bind = (name: keyof BucketDraft) => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) => onChange({ [name]: event.target.value }),
  });
  return (
    <>
      <Field label="Bucket" required minLength={3} className="mono" {...bind("bucket_name")} />
      <Field label="Prefix" className="mono" {...bind("prefix")}>
        Keys begin with it.
      </Field>
      <Field
        label={<Optional>Region</Optional>}
        className="mono"
        placeholder="eu-central-1"
        {...bind("region")}
      />
      <Field
        label={<Optional>Endpoint</Optional>}
        type="url"
        className="mono"
        placeholder="https://s3.example.com"
        {...bind("endpoint_url")}
      >
        Empty for AWS.
      </Field>
      <Field label="Access key id" required className="mono" {...bind("access_key_id")} />
      <Field
        label="Secret access key"
        required
        type="password"
        autoComplete="new-password"
        className="mono"
        {...bind("secret_access_key")}
      >
        Encrypted here and never shown again.
      </Field>
      <Field
        label={<Optional>Name</Optional>}
        pattern="[a-zA-Z0-9\-_ ']+"
        placeholder={draft.bucket_name || "Data lake"}
        {...bind("display_name")}
      >
        Letters, digits, spaces, - and _. Default: the bucket.
      </Field>
    </>
  );
}
