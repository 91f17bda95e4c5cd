"""Similarity, projections, walks, diffusion, incidence: sparse linear algebra over graphs."""


def jaccard(gb, A):
    """Shared neighbours over joint neighbours, for the pairs that share one and stand below the diagonal."""
    degree = A.reduce_rowwise(gb.agg.count).new()
    shared = gb.semiring.plus_pair(A @ A.T).new()
    shared << gb.select.tril(shared, -1)
    left = gb.semiring.any_first(degree.diag() @ shared.apply(gb.unary.one).new()).new()
    right = gb.semiring.any_second(shared.apply(gb.unary.one).new() @ degree.diag()).new()
    joint = (left + right - shared).new()
    return (shared / joint).new()


def bipartite_projection(gb, B):
    """Both one-mode projections of an incidence matrix: how many partners two vertices share."""
    rows = gb.semiring.plus_times(B @ B.T).new()
    columns = gb.semiring.plus_times(B.T @ B).new()
    rows << gb.select.offdiag(rows)
    columns << gb.select.offdiag(columns)
    return rows, columns, rows.reduce_rowwise(gb.monoid.max).new()


def walks(gb, A, length):
    """How many walks of a length join two vertices, and how many start at each."""
    P = A.apply(gb.unary.one).new(dtype="INT64")
    by_power = P.power(length).new()
    ones = gb.Vector.from_scalar(1, A.nrows, dtype="INT64")
    step_by_step = ones.dup()
    for _ in range(length):
        step_by_step << P @ step_by_step
    return by_power, step_by_step, by_power.reduce_rowwise().new()


def transitive_closure(gb, A):
    """Which vertices reach which, by squaring over lor-land."""
    R = A.apply(gb.unary.one).new(dtype=bool)
    while True:
        edges = R.nvals
        R(gb.binary.lor) << gb.semiring.lor_land(R @ R)
        if R.nvals == edges:
            return R


def heat_diffusion(gb, A, steps=10, rate=0.1):
    """Explicit Euler on the graph Laplacian, in infix arithmetic: heat starts in vertex 0, none is lost."""
    n = A.nrows
    heat = gb.Vector.from_scalar(0.0, n)
    heat[0] = 100.0
    W = A.apply(gb.unary.one).new(dtype="FP64")
    degree = gb.Vector.from_scalar(0.0, n)
    degree(gb.binary.plus) << W.reduce_rowwise()
    for _ in range(steps):
        flow = (W @ heat).new()
        inflow = gb.Vector.from_scalar(0.0, n)
        inflow(gb.binary.plus) << flow
        heat << heat + rate / 4 * (inflow - degree * heat)
    return heat, heat.reduce().new().value


def laplacian(gb, A):
    """The Laplacian and its normalised form, and their row sums."""
    W = A.dup(dtype="FP64")
    W << gb.select.offdiag(W)
    degree = W.reduce_rowwise().new()
    L = W.apply(gb.unary.ainv).new()
    L.setdiag(degree)
    scale = degree.apply(gb.unary.sqrt).new().apply(gb.unary.minv).new().diag()
    normal = (scale @ L @ scale).new()
    return L, normal, L.reduce_rowwise().new()


def incidence(gb, A):
    """From an adjacency to an incidence matrix and back: E' E has the degrees on its diagonal."""
    rows, columns, _ = gb.select.triu(A, 1).new().to_coo()
    m = len(rows)
    ends = gb.Matrix.from_coo(list(range(m)) * 2, [*rows, *columns], 1, dtype=int, nrows=m, ncols=A.ncols)
    product = (ends.T @ ends).new()
    return product, product.diag(), ends.reduce_columnwise().new()


def modularity(gb, A, community):
    """Newman's modularity of a partition given as a vector of community numbers."""
    n = A.nrows
    members, number = community.to_coo()
    S = gb.Matrix.from_coo(members, number, 1.0, nrows=n, ncols=n)
    W = A.apply(gb.unary.one).new(dtype="FP64")
    twice_edges = W.reduce_scalar(allow_empty=False).new().value
    if twice_edges == 0:
        return 0.0
    inside = (S.T @ W @ S).new().diag().reduce(allow_empty=False).new().value
    degrees = (W.reduce_rowwise().new() @ S).new()
    expected = (degrees * degrees).reduce(allow_empty=False).new().value / twice_edges
    return (inside - expected) / twice_edges


def label_propagation(gb, A, rounds=5):
    """Every vertex takes the label most frequent among its neighbours, the smallest of equals."""
    n = A.nrows
    label = gb.Vector.from_coo(range(n), range(n), dtype=int, size=n)
    for _ in range(rounds):
        vertices, labels = label.to_coo()
        member = gb.Matrix.from_coo(vertices, labels, 1, dtype=int, nrows=n, ncols=n)
        votes = gb.semiring.plus_second(A @ member).new()
        most = votes.reduce_rowwise(gb.monoid.max).new()
        # keep the entries that equal the row's maximum, then the smallest column of each row
        highest = gb.semiring.any_first(most.diag() @ votes.apply(gb.unary.one).new()).new()
        winners = gb.select.value(gb.binary.eq(votes & highest) == True).new()  # noqa: E712
        label(gb.binary.second) << gb.indexunary.colindex(winners).new().reduce_rowwise(gb.monoid.min)
    return label


def subgraph_counts(gb, A, vertices):
    """Extract a subgraph, put it elsewhere, count what is inside and what leaves it."""
    inner = A[vertices, vertices].new()
    outside = gb.Vector.from_scalar(True, A.nrows)
    del outside[vertices]
    leaving = gb.semiring.any_first(A[vertices, :] @ outside.diag()).new()
    moved = gb.Matrix(A.dtype, A.nrows, A.ncols)
    k = len(vertices)
    moved[:k, :k] << inner
    moved(~moved.S)[0, :] << 1
    return inner, leaving.nvals, moved
