import type { Destination } from "../../../exports/destination-schema.ts";
import { BucketFields } from "../../exports/bucket-fields.tsx";
import { type BucketDraft, NEW_BUCKET } from "../../exports/draft.ts";
import { bucketUrl } from "../../exports/names.ts";
import { FormSection } from "../../exports/section.tsx";

type Props = {
  destinations: Destination[];
  /** Id of a destination, or `NEW_BUCKET`. */
  chosen: string;
  onChoose: (id: string) => void;
  bucket: BucketDraft;
  onChange: (change: Partial<BucketDraft>) => void;
};

/** Chooses a saved destination, or has the fields of a new bucket. */
export function DestinationFields({ destinations, chosen, onChoose, bucket, onChange }: Props) {
  const found = destinations.find(({ id }) => id === chosen);
  return (
    <FormSection
      number={2}
      title="Where"
      end={
        <select
          className="in auto max-w-full"
          aria-label="Destination"
          value={chosen}
          onChange={(event) => onChoose(event.target.value)}
        >
          <option value={NEW_BUCKET}>New bucket</option>
          {destinations.map(({ id, display_name }) => (
            <option key={id} value={id}>
              {display_name}
            </option>
          ))}
        </select>
      }
    >
      {found === undefined ? (
        <BucketFields draft={bucket} onChange={onChange} />
      ) : (
        <p className="full">
          <code className="break-all">{bucketUrl(found)}</code>{" "}
          <span className="dim">{found.config.endpoint_url ?? found.config.region ?? "AWS"}</span>
        </p>
      )}
    </FormSection>
  );
}
