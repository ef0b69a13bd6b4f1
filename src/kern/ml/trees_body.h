/* SPDX-License-Identifier: Apache-2.0
 * kern/ml/trees_body.h - the walk and the sums for one element type: TREE_T, TREE_NODE, TREE_BITS, TREE_NAME(x). */

static bool TREE_NAME(member)(const ox_trees *t, TREE_T set, TREE_T x) {
  TREE_BITS id;
  memcpy(&id, &set, sizeof id);
  const TREE_T *v = (const TREE_T *)t->members + t->sets[id].first;
  uint32_t lo = 0, hi = t->sets[id].n;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (v[mid] < x)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < t->sets[id].n && v[lo] == x;
}

/* Is the node's condition true for x? */
static bool TREE_NAME(holds)(const ox_trees *t, uint8_t mode, TREE_T split, TREE_T x) {
  if ((mode & 0x80) && x != x) return true;
  switch (mode & 0x7f) {
    case OX_TREE_LEQ:
      return x <= split;
    case OX_TREE_LT:
      return x < split;
    case OX_TREE_GTE:
      return x >= split;
    case OX_TREE_GT:
      return x > split;
    case OX_TREE_EQ:
      return x == split;
    case OX_TREE_NEQ:
      return x != split;
    case OX_TREE_MEMBER:
      return TREE_NAME(member)(t, split, x);
    default:
      return false;
  }
}

/* Walks lane i from node at[i] down to its leaf, reading row[i]. */
OX_INLINE void TREE_NAME(walk)(const ox_trees *t, ox_tree_walk how, const TREE_T *const *row, uint32_t *at) {
  const TREE_NODE *nodes = t->nodes;
  uint32_t p[OX_TREE_LANES], moved;
  OX_UNROLL for (int i = 0; i < OX_TREE_LANES; i++) p[i] = at[i];
  do {
    moved = 0;
    OX_UNROLL for (int i = 0; i < OX_TREE_LANES; i++) {
      const TREE_NODE *n = &nodes[p[i]];
      uint32_t to;
      if (how == OX_TREE_PLAIN) {
        to = n->next[row[i][n->feature] <= n->split];
      } else if (how == OX_TREE_NAN) {
        TREE_T x = row[i][n->feature & 0x7fffffff];
        to = n->next[(x <= n->split) | ((x != x) & (n->feature >> 31))];
      } else {
        to = n->next[TREE_NAME(holds)(t, t->modes[p[i]], n->split, row[i][n->feature])];
      }
      moved |= to ^ p[i];
      p[i] = to;
    }
  } while (moved);
  OX_UNROLL for (int i = 0; i < OX_TREE_LANES; i++) at[i] = p[i];
}

OX_INLINE void TREE_NAME(walk_lanes)(const ox_trees *t, const TREE_T *const *row, uint32_t *at) {
  switch (t->walk) {
    case OX_TREE_PLAIN:
      TREE_NAME(walk)(t, OX_TREE_PLAIN, row, at);
      break;
    case OX_TREE_NAN:
      TREE_NAME(walk)(t, OX_TREE_NAN, row, at);
      break;
    default:
      TREE_NAME(walk)(t, OX_TREE_GENERAL, row, at);
      break;
  }
}

/* Adds one weight to a score, by the kind of aggregation. */
static inline void TREE_NAME(put)(const ox_trees *t, TREE_T w, TREE_T *score, uint8_t *has) {
  bool least = t->aggregate == OX_TREE_MIN;
  if (t->aggregate <= OX_TREE_SUM)
    *score += w;
  else if (!*has || (least ? w < *score : w > *score))
    *score = w;
  *has = 1;
}

/* Adds the leaf |at| to the scores of one row. */
static inline void TREE_NAME(add_leaf)(const ox_trees *t, uint32_t at, TREE_T *score, uint8_t *has) {
  TREE_T payload = ((const TREE_NODE *)t->nodes)[at].split;
  TREE_BITS id;
  memcpy(&id, &payload, sizeof id);
  const ox_tree_leaf leaf = t->leaves[id];
  const TREE_T *w = (const TREE_T *)t->weights + leaf.first;
  if (t->dense && t->aggregate <= OX_TREE_SUM) {
    for (int64_t k = 0; k < t->n_targets; k++) score[k] += w[k];
  } else {
    for (uint32_t k = 0; k < leaf.n; k++) {
      uint32_t target = t->targets[leaf.first + k];
      TREE_NAME(put)(t, w[k], &score[target], &has[target]);
    }
  }
}

/* Adds the leaves |at| to the scores of |n| rows from |r| on. */
static inline void TREE_NAME(score)(const ox_trees *t, const uint32_t *at, int64_t n, int64_t r, TREE_T *scores,
                                    uint8_t *has) {
  const TREE_NODE *nodes = t->nodes;
  if (t->n_targets == 1 && t->dense)
    for (int64_t i = 0; i < n; i++) TREE_NAME(put)(t, nodes[at[i]].split, &scores[r + i], &has[r + i]);
  else
    for (int64_t i = 0; i < n; i++)
      TREE_NAME(add_leaf)(t, at[i], scores + (r + i) * t->n_targets, has + (r + i) * t->n_targets);
}

/* |rows| <= OX_TREE_LANES from row |r| on, through the trees, of which as many are walked at a time as lanes allow. */
static void TREE_NAME(score_few)(const ox_trees *t, const TREE_T *x, int64_t stride, int64_t r, int64_t rows,
                                 TREE_T *scores, uint8_t *has) {
  const TREE_T *row[OX_TREE_LANES];
  uint32_t at[OX_TREE_LANES];
  for (int64_t i = 0; i < OX_TREE_LANES; i++) row[i] = x + (r + i % rows) * stride;
  for (int64_t k = 0, trees; k < t->n_trees; k += trees) {
    trees = OX_MIN(OX_TREE_LANES / rows, t->n_trees - k);
    for (int64_t i = 0; i < OX_TREE_LANES; i++) at[i] = t->roots[k + OX_MIN(i / rows, trees - 1)];
    TREE_NAME(walk_lanes)(t, row, at);
    for (int64_t i = 0; i < trees; i++) TREE_NAME(score)(t, at + i * rows, rows, r, scores, has);
  }
}

static void TREE_NAME(score_rows)(const ox_trees *t, const TREE_T *x, int64_t stride, int64_t rows, TREE_T *scores,
                                  uint8_t *has) {
  int64_t whole = rows / OX_TREE_LANES * OX_TREE_LANES;
  for (uint32_t k = 0; k < t->n_trees; k++) {
    for (int64_t r = 0; r < whole; r += OX_TREE_LANES) {
      uint32_t at[OX_TREE_LANES];
      const TREE_T *row[OX_TREE_LANES];
      for (int i = 0; i < OX_TREE_LANES; i++) at[i] = t->roots[k], row[i] = x + (r + i) * stride;
      TREE_NAME(walk_lanes)(t, row, at);
      TREE_NAME(score)(t, at, OX_TREE_LANES, r, scores, has);
    }
  }
  if (whole < rows) TREE_NAME(score_few)(t, x, stride, whole, rows - whole, scores, has);
}

static void TREE_NAME(find_leaves)(const ox_trees *t, const TREE_T *x, int64_t begin, int64_t end, uint32_t *leaf) {
  const TREE_T *row[OX_TREE_LANES];
  for (int i = 0; i < OX_TREE_LANES; i++) row[i] = x;
  for (int64_t k = begin; k < end; k += OX_TREE_LANES) {
    uint32_t at[OX_TREE_LANES];
    for (int i = 0; i < OX_TREE_LANES; i++) at[i] = t->roots[OX_MIN(k + i, end - 1)];
    TREE_NAME(walk_lanes)(t, row, at);
    for (int64_t i = 0; i < OX_MIN(end - k, OX_TREE_LANES); i++) leaf[k + i] = at[i];
  }
}

static void TREE_NAME(score_leaves)(const ox_trees *t, const uint32_t *leaf, TREE_T *scores, uint8_t *has) {
  const TREE_NODE *nodes = t->nodes;
  if (t->n_targets == 1 && t->dense) {
    for (uint32_t k = 0; k < t->n_trees; k++) TREE_NAME(put)(t, nodes[leaf[k]].split, scores, has);
  } else {
    for (uint32_t k = 0; k < t->n_trees; k++) TREE_NAME(add_leaf)(t, leaf[k], scores, has);
  }
}
