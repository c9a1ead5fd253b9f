import { ByteWriter } from "hyparquet-writer";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";

const LENGTH_BYTES = 4;

/** Encodes levels of a version 1 page: their length in bytes, then runs and bit-packed groups. */
export function encodeLevels(levels: number[], bit_width: number): Uint8Array {
  const out = new ByteWriter();
  out.appendUint32(0);
  writeRleBitPackedHybrid(out, levels, bit_width);
  out.view.setUint32(0, out.index - LENGTH_BYTES, true);
  return out.getBytes();
}
