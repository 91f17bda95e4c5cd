"""Components, triangles, trusses, cores, independent sets, colouring, communities."""


def connected_components(gb, A):
    """FastSV of Zhang, Azad and Buluc: every vertex ends with the smallest vertex of its component."""
    n = A.nrows
    ids = gb.Vector.from_coo(range(n), range(n), dtype="INT64", size=n)
    parent, grandparent, smallest = ids.dup(), ids.dup(), ids.dup()
    changed = n > 0
    while changed:
        before = grandparent.dup()
        # the smallest grandparent among the neighbours
        smallest(gb.binary.min) << A.mxv(grandparent, gb.semiring.min_second)
        # stochastic hooking: parent[parent[u]] min= smallest[u]; several u share a parent, so by a product
        hooks = gb.Matrix.from_coo(parent.to_coo()[1], range(n), True, nrows=n, ncols=n)
        parent(gb.binary.min) << hooks.mxv(smallest, gb.semiring.min_second)
        parent(gb.binary.min) << smallest
        parent(gb.binary.min) << grandparent
        grandparent << parent[parent.to_coo()[1]]
        changed = not grandparent.isequal(before)
    return parent


def components_by_labels(gb, A):
    """Label propagation of the minimum, one hop at a time, over the union of A and its transpose."""
    n = A.nrows
    label = gb.Vector.from_coo(range(n), range(n), dtype="UINT32", size=n)
    both = gb.binary.pair(A | A.T).new(dtype=bool)
    while True:
        before = label.dup()
        label(gb.binary.min) << gb.semiring.min_second(both @ label)
        if label.isequal(before):
            return label


def triangles_burkhardt(gb, A):
    C = gb.Matrix("INT64", A.nrows, A.ncols)
    C(A.S) << A.mxm(A, gb.semiring.plus_pair)
    return C.reduce_scalar(gb.monoid.plus, allow_empty=False).new().value // 6


def triangles_cohen(gb, A):
    L, U = gb.select.tril(A, -1).new(), gb.select.triu(A, 1).new()
    C = gb.semiring.plus_pair(L @ U).new(mask=A.S)
    return C.reduce_scalar(allow_empty=False).new().value // 2


def triangles_sandia(gb, A):
    """Sandia's LL, by saxpy and by dot products."""
    L = A.select("tril", -1).new()
    by_rows = gb.semiring.plus_pair(L @ L).new(mask=L.S)
    by_dots = L.mxm(L.T, gb.semiring.plus_pair).new(mask=L.S)
    return by_rows.reduce_scalar(allow_empty=False).value, by_dots.reduce_scalar(allow_empty=False).value


def clustering(gb, A):
    """Triangles at each vertex, and the share of its pairs of neighbours that are neighbours."""
    C = gb.semiring.plus_pair(A @ A.T).new(mask=A.S)
    triangles = C.reduce_rowwise().new() // 2
    degree = A.reduce_rowwise(gb.agg.count).new()
    pairs = (degree * (degree - 1)).new()
    pairs = gb.select.value(pairs > 0).new()
    return triangles.new(), (2 * triangles.new() / pairs).new()


def k_truss(gb, A, k):
    """The largest subgraph in which every edge lies in k - 2 triangles; entries are these counts."""
    C = A.apply(gb.unary.one).new(dtype="INT64")
    while True:
        edges = C.nvals
        # C<s(C), replace> = C plus.pair C ; drop edges with too little support
        C(C.S, replace=True) << C.mxm(C, gb.semiring.plus_pair)
        C << C.select(">=", k - 2)
        if C.nvals == edges:
            return C


def core_numbers(gb, A):
    """k-core decomposition by peeling."""
    n = A.nrows
    core = gb.Vector.from_scalar(0, n, dtype=int)
    degree = gb.Vector.from_scalar(0, n, dtype=int)
    degree(gb.binary.plus) << A.reduce_rowwise(gb.agg.count)
    k = 0
    while degree.nvals:
        peel = gb.select.value(degree <= k).new()
        if not peel.nvals:
            k += 1
            continue
        core(peel.S) << k
        degree(~peel.S, replace=True) << degree
        lost = gb.semiring.plus_pair(peel @ A).new(mask=degree.S)
        degree(lost.S, gb.binary.minus) << lost
    return core


def maximal_independent_set(gb, A, scores):
    """Luby's algorithm with distinct scores given by the caller, so that the answer is determined."""
    n = A.nrows
    score, members = scores.dup(), gb.Vector(bool, n)
    while score.nvals:
        # a candidate wins that has no rival, or a higher score than its best rival
        rival = A.mxv(score, gb.semiring.max_second).new(mask=score.S)
        wins = gb.Vector(bool, n)
        wins(score.S) << True
        wins(rival.S) << score.ewise_mult(rival, gb.binary.gt)
        winners = wins.dup(mask=wins.V)
        members(winners.S) << True
        winners(score.S) << A.mxv(winners, gb.semiring.any_pair)
        score(~members.S, replace=True) << score
        score(~winners.S, replace=True) << score
    return members


def greedy_colouring(gb, A, scores):
    """Jones-Plassmann: rounds of local maxima, each round a colour."""
    n = A.nrows
    colour = gb.Vector("INT16", n)
    weight = scores.dup()
    round_number = 0
    while weight.nvals:
        round_number += 1
        strongest = weight.dup()
        strongest(strongest.S) << 0
        strongest(weight.S, gb.binary.max) << A.mxv(weight, gb.semiring.max_second)
        maxima = gb.select.value(gb.binary.gt(weight & strongest) == True).new()  # noqa: E712
        colour(maxima.S) << round_number
        weight(~maxima.S, replace=True) << weight
    return colour


def markov_clusters(gb, A, iterations=6):
    """Expand, inflate, prune; clusters are the attractors that share columns."""
    M = A.apply(gb.unary.one).new(dtype="FP64")
    M.setdiag(1.0)
    for _ in range(iterations):
        total = M.reduce_columnwise(gb.monoid.plus).new().apply(gb.unary.minv).new()
        M << M @ total.diag()
        M << M @ M
        M << M.apply(gb.binary.pow, right=2)
        M << M.select(">", 1e-4)
    total = M.reduce_columnwise(gb.monoid.plus).new().apply(gb.unary.minv).new()
    return (M @ total.diag()).new()


def gathered(v, p):
    """v(p(i)) for the entries of p, where v has one."""
    if type(v).__module__.startswith("spgraph"):
        return v[p].new()
    ids, at = p.to_coo()
    found = v[at].new()
    result = type(v)(v.dtype, p.size)
    kept, values = found.to_coo()
    result[ids[kept]] << type(v).from_dense(values)
    return result


def combined(gb, v, monoid, p, x):
    """v(p(i)) = monoid(v(p(i)), x(i)), any number of i for one position."""
    if gb.__name__ == "spgraph":
        v(monoid)[p] << x
        return
    both = gb.binary.first(p & x).new()
    _, at = both.to_coo()
    values = gb.binary.second(both & x).new().to_coo()[1]
    v(monoid) << gb.Vector.from_coo(at, values, v.dtype, size=v.size, dup_op=monoid.binaryop)


def jumped(v):
    """Where pointers lead in the end."""
    if type(v).__module__.startswith("spgraph"):
        return v.pointer_jump().new()
    while True:
        before, v = v, v[v.to_coo()[1]].new()
        if v.isequal(before):
            return v


def components_by_pointers(gb, A):
    """Hooking of roots and full pointer jumping; what the engine lacks is made of what it has."""
    n = A.nrows
    root = gb.Vector.from_coo(range(n), range(n), dtype="INT64", size=n)
    rounds = 0
    while True:
        low = root.dup()
        low(gb.binary.min) << A.mxv(root, gb.semiring.min_second)
        lower = gb.binary.lt(low & root).new()
        hooks = low.dup(mask=lower.V)
        if not hooks.nvals:
            return root, rounds, gathered(root, root)
        combined(gb, root, gb.monoid.min, root.dup(), hooks)
        root << jumped(root)
        rounds += 1


def votes(gb, A):
    """How many neighbours each vertex is the smallest, and the largest weighted one, of; and to whom its vote leads."""
    n = A.nrows
    smallest = A.mxv(gb.Vector.from_coo(range(n), range(n), dtype="INT32", size=n), gb.semiring.min_second).new()
    count, most = gb.Vector("INT64", n), gb.Vector.from_scalar(0, n, dtype="INT64")
    combined(gb, count, gb.monoid.plus, smallest, gb.Vector.from_scalar(1, n, dtype="INT64"))
    combined(gb, most, gb.monoid.max, smallest, A.reduce_rowwise(gb.monoid.max).new())
    return smallest, count, most, gathered(smallest, smallest), gathered(count, smallest)


def library_components(gb, A):
    """The library's own where there is one, else by labels."""
    if gb.__name__ == "spgraph":
        return gb.algorithms.connected_components(A)
    return components_by_labels(gb, A).dup("INT64")


def library_triangles(gb, A):
    """The library's own where there are any: count, per vertex, core numbers."""
    if gb.__name__ == "spgraph":
        ours = gb.algorithms
        return ours.triangle_count(A), ours.triangles(A), ours.core_number(A)
    count = gb.Vector.from_scalar(0, A.nrows, dtype="INT64")
    count(gb.binary.plus) << clustering(gb, A)[0]
    return int(triangles_burkhardt(gb, A)), count, core_numbers(gb, A)
