;; The Levenshtein distance of two texts of at most 255 bytes, at 0 and at 256.
;; The row of distances is at 512, as 32-bit numbers.
(module
  (memory (export "memory") 1)
  (func (export "distance") (param $n i32) (param $m i32) (result i32)
    (local $i i32) (local $j i32) (local $left i32) (local $corner i32) (local $above i32)
    ;; row[j] = j
    (loop $fill
      (i32.store (i32.add (i32.const 512) (i32.shl (local.get $j) (i32.const 2))) (local.get $j))
      (local.set $j (i32.add (local.get $j) (i32.const 1)))
      (br_if $fill (i32.le_u (local.get $j) (local.get $m))))
    (block $done
      (loop $rows
        (br_if $done (i32.ge_u (local.get $i) (local.get $n)))
        ;; row[0] = i + 1
        (local.set $corner (local.get $i))
        (local.set $left (i32.add (local.get $i) (i32.const 1)))
        (i32.store (i32.const 512) (local.get $left))
        (local.set $j (i32.const 0))
        (block $end
          (loop $columns
            (br_if $end (i32.ge_u (local.get $j) (local.get $m)))
            (local.set $above (i32.load (call $cell (local.get $j))))
            ;; The cheapest of a deletion, an insertion and a replacement.
            (local.set $left
              (call $min
                (call $min
                  (i32.add (local.get $above) (i32.const 1))
                  (i32.add (local.get $left) (i32.const 1)))
                (i32.add
                  (local.get $corner)
                  (i32.ne
                    (i32.load8_u (local.get $i))
                    (i32.load8_u (i32.add (i32.const 256) (local.get $j)))))))
            (i32.store (call $cell (local.get $j)) (local.get $left))
            (local.set $corner (local.get $above))
            (local.set $j (i32.add (local.get $j) (i32.const 1)))
            (br $columns)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $rows)))
    (i32.load (i32.add (i32.const 512) (i32.shl (local.get $m) (i32.const 2)))))
  ;; The address of row[j + 1].
  (func $cell (param $j i32) (result i32)
    (i32.add (i32.const 516) (i32.shl (local.get $j) (i32.const 2))))
  (func $min (param $a i32) (param $b i32) (result i32)
    (select (local.get $a) (local.get $b) (i32.lt_u (local.get $a) (local.get $b)))))
