type Props = {
  tags: string[];
  /** Number of tags that are shown. The others are counted, and the title of the count names them. */
  max: number;
};

/** Tags that users and agents chose, which may be long. Each is cut, and has its whole text as title. */
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
