type Props = {
  tags: string[];
  /** The others are counted, and named by the count's description. */
  max: number;
};

/** Texts of users and agents in short; each has its whole text as its description. */
export function Tags({ tags, max }: Props) {
  const surplus = tags.slice(max);
  return (
    <div className="row gap-1">
      {tags.slice(0, max).map((tag) => (
        <bdi key={tag} className="tag cut" title={tag}>
          {tag}
        </bdi>
      ))}
      {surplus.length > 0 && (
        <span className="dim sm" title={surplus.join(", ")}>
          +{surplus.length}
        </span>
      )}
    </div>
  );
}
