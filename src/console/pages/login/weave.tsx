const WARP_PX = 28;
const WARPS = 40;

/** Draws an ornament without information: threads through the eyes of heddles. */
export function Weave() {
  const warps = Array.from({ length: WARPS }, (_, index) => index * WARP_PX);
  return (
    <svg
      className="login-art"
      aria-hidden="true"
      preserveAspectRatio="xMinYMid slice"
      viewBox="0 0 800 800"
    >
      {warps.map((x) => (
        <path key={x} d={`M${x} 0V800`} className="warp" />
      ))}
      {[0, 1, 2, 3].map((row) => (
        <path key={row} d={weft(row)} className="weft" style={{ opacity: 1 - row * 0.17 }} />
      ))}
      {[0, 1, 2, 3].flatMap((row) =>
        warps
          .filter((_, index) => (index + row * 2) % 5 === 1)
          .map((x) => (
            <ellipse
              key={`${row}-${x}`}
              cx={x}
              cy={heightAt(row, x)}
              rx="8"
              ry="17"
              className="eye"
            />
          )),
      )}
    </svg>
  );
}

function heightAt(row: number, x: number): number {
  return 330 + row * 60 - 130 * Math.sin((x + row * 90) / 190);
}

function weft(row: number): string {
  const points = Array.from({ length: 90 }, (_, index) => index * 10 - 40);
  return points
    .map((x, index) => `${index ? "L" : "M"}${x} ${heightAt(row, x).toFixed(1)}`)
    .join("");
}
