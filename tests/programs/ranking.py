"""Centralities: PageRank, personalised PageRank, Katz, HITS, eigenvector, betweenness, closeness."""


def pagerank(gb, A, damping=0.85, tol=1e-10, itermax=200):
    """The GAP benchmark's formulation, with dangling vertices; returns ranks and the number of iterations."""
    n = A.nrows
    degree = A.reduce_rowwise(gb.agg.count).new(dtype=float)
    dangling = gb.Vector(float, n)
    dangling(~degree.S) << 1.0
    teleport = (1 - damping) / n
    rank = gb.Vector.from_scalar(1.0 / n, n, dtype=float)
    iterations, change = 0, 1.0
    while change >= tol and iterations < itermax:
        previous = rank.dup()
        share = (rank / degree).new()
        lost = (rank * dangling).reduce(gb.monoid.plus, allow_empty=False).new().value
        rank << teleport + damping * lost / n
        # r += damping * A' plus.second (r ./ d)
        rank(gb.binary.plus) << (damping * A.T.mxv(share, gb.semiring.plus_second)).new()
        change = abs(rank - previous).new().reduce(gb.monoid.plus).new().value
        iterations += 1
    return rank, iterations


def personalized_pagerank(gb, A, seed, damping=0.85, iterations=30):
    n = A.nrows
    weight = A.reduce_rowwise(gb.monoid.plus).new(dtype="FP64")
    W = gb.semiring.any_times(weight.apply(gb.unary.minv).new().diag() @ A).new(dtype="FP64")
    rank = gb.Vector("FP64", n)
    rank[seed] = 1.0
    for _ in range(iterations):
        moved = gb.semiring.plus_times(rank @ W).new()
        kept = moved.reduce(gb.monoid.plus, allow_empty=False).new().value
        moved << moved.apply(gb.binary.times, right=damping)
        moved(gb.binary.plus)[seed] << 1.0 - damping * kept
        rank << moved
    return rank


def katz(gb, A, alpha=0.02, beta=1.0, tol=1e-9, itermax=500):
    n = A.nrows
    x = gb.Vector.from_scalar(0.0, n)
    b = gb.Vector.from_scalar(float(beta), n)
    P = A.apply(gb.unary.one).new(dtype="FP64")
    for _ in range(itermax):
        previous = x.dup()
        x << b
        x(gb.binary.plus) << alpha * gb.semiring.plus_times(previous @ P)
        if (x - previous).new().reduce(gb.agg.L1norm).new().value < n * tol:
            break
    x << x / x.reduce(gb.agg.L2norm).new().value
    return x


def hits(gb, A, iterations=40):
    """Hubs and authorities, each normalised by its largest value."""
    n = A.nrows
    hub = gb.Vector.from_scalar(1.0 / n, n)
    authority = hub.dup()
    for _ in range(iterations):
        authority << hub.vxm(A, gb.semiring.plus_first)
        hub << A.mxv(authority, gb.semiring.plus_second)
        for v in (authority, hub):
            v << v.apply(gb.binary.truediv, right=v.reduce(gb.monoid.max))
    return hub, authority


def betweenness(gb, A, sources):
    """Brandes for a batch of sources: path counts forward, dependencies backward."""
    k, n = len(sources), A.nrows
    pattern = A.apply(gb.unary.one).new(dtype="FP64")
    paths = gb.Matrix.from_coo(range(k), sources, 1.0, nrows=k, ncols=n)
    frontier = gb.Matrix("FP64", k, n)
    frontier(~paths.S) << paths.mxm(pattern, gb.semiring.plus_first)
    fronts = []
    while frontier.nvals:
        fronts.append(frontier.dup(dtype=bool))
        paths(gb.binary.plus) << frontier
        frontier(~paths.S, replace=True) << frontier.mxm(pattern, gb.semiring.plus_first)
    update = gb.Matrix.from_scalar(1.0, k, n)
    inverse = paths.apply(gb.unary.minv).new()
    for depth in range(len(fronts) - 1, 0, -1):
        # W<s(S[d]), replace> = update ./ paths ; W<s(S[d-1]), replace> = W A' ; update += W .* paths
        work = inverse.ewise_mult(update).new(mask=fronts[depth].S)
        work(fronts[depth - 1].S, replace=True) << work.mxm(pattern.T, gb.semiring.plus_first)
        update(gb.binary.plus) << work.ewise_mult(paths)
    centrality = gb.Vector.from_scalar(-float(k), n)
    centrality(gb.binary.plus) << update.reduce_columnwise(gb.monoid.plus)
    return centrality


def betweenness_by_shares(gb, A, sources):
    """Brandes for a vector per source, then for all at once: each keeps dependency / paths, not the dependency."""

    def dependencies(paths):
        front, fronts = paths.dup(), []
        while front.nvals:
            fronts.append(front)
            # q<!s(paths)> = q plus.first A
            front = gb.semiring.plus_first(front @ A).new("FP64", mask=~paths.S)
            paths(gb.binary.second) << front
        share = paths.dup()
        share(paths.S) << 0.0
        while len(fronts) > 2:
            end = fronts.pop()
            passed = (end.apply(gb.unary.minv).new() + gb.binary.second(end & share).new()).new()
            # share<s(level d - 1)> += (1 / paths + share)(level d) plus.first A'
            share(fronts[-1].S, gb.binary.plus) << gb.semiring.plus_first(passed @ A.T).new("FP64")
        return gb.binary.times(paths & share).new()

    total = gb.Vector.from_scalar(0.0, A.nrows)
    for source in sources:
        total(gb.binary.plus) << dependencies(gb.Vector.from_coo([source], 1.0, size=A.nrows))
    number = len(sources)
    rows = dependencies(gb.Matrix.from_coo(range(number), sources, 1.0, nrows=number, ncols=A.nrows))
    together = gb.Vector.from_scalar(0.0, A.nrows)
    together(gb.binary.plus) << rows.reduce_columnwise(gb.monoid.plus)
    return total, together


def eigenvector(gb, A, iterations=60):
    """Power iteration on A + I, to the Euclidean norm 1."""
    x = gb.Vector.from_scalar(1.0, A.nrows)
    for _ in range(iterations):
        # x += x plus.first A
        x(gb.binary.plus) << gb.semiring.plus_first(x @ A).new("FP64")
        x << x / x.reduce(gb.agg.L2norm).new().value
    return x


def closeness(gb, levels):
    """From a matrix of distances, one row a source: reached - 1 over the sum of the distances."""
    total = levels.reduce_rowwise(gb.agg.sum).new(dtype=float)
    reached = levels.reduce_rowwise(gb.agg.count).new(dtype=float)
    nonzero = total.select("!=", 0.0).new()
    return ((reached - 1).new() / nonzero).new()
