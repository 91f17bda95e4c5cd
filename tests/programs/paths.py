"""Shortest paths."""


def bellman_ford(gb, A, source):
    """Distances; None when a negative cycle is reachable."""
    n = A.nrows
    dist = gb.Vector(A.dtype, n)
    dist[source] = 0
    for _ in range(n):
        before = dist.dup()
        # d min= d min.+ A
        dist(gb.binary.min) << dist.vxm(A, gb.semiring.min_plus)
        if dist.isequal(before):
            return dist
    return None


def bellman_ford_changed(gb, A, source):
    """Only vertices whose distance fell are expanded again."""
    dist = gb.Vector(A.dtype, A.nrows)
    dist[source] = 0
    active = dist.dup()
    while active.nvals:
        reached = active.vxm(A, gb.semiring.min_plus).new()
        better = gb.binary.lt(reached & dist).new()
        active = reached.dup(mask=~dist.S)
        active(better.V) << reached
        dist(active.S) << active
    return dist


def delta_stepping(gb, A, source, delta):
    """The GraphBLAS formulation of Sridhar et al.: light edges while a bucket fills, then heavy ones."""
    light = A.select("<=", delta).new()
    heavy = A.select(">", delta).new()
    dist = gb.Vector(A.dtype, A.nrows)
    dist[source] = 0
    done = gb.Vector(bool, A.nrows)
    bucket_number = 0
    while dist.nvals > done.nvals:
        low, high = bucket_number * delta, (bucket_number + 1) * delta
        bucket = dist.select(">=", low).new().select("<", high).new()
        settled = gb.Vector(bool, A.nrows)
        while bucket.nvals:
            settled(bucket.S) << True
            requests = bucket.vxm(light, gb.semiring.min_plus).new()
            improved = requests.dup(mask=~dist.S)
            improved(gb.binary.lt(requests & dist).new().V) << requests
            dist(improved.S) << improved
            bucket << improved.select(">=", low).new().select("<", high)
        in_bucket = dist.dup(mask=settled.S)
        dist(gb.binary.min) << in_bucket.vxm(heavy, gb.semiring.min_plus)
        done(settled.S) << True
        bucket_number += 1
    return dist


def sssp_parents(gb, A, source):
    """Distances, and for each vertex the smallest neighbour that its distance comes through."""
    dist = bellman_ford(gb, A, source)
    D = dist.diag()
    through = gb.semiring.plus_plus(D @ A).new()
    here = gb.semiring.any_second(through.apply(gb.unary.one) @ D).new()
    tight = gb.select.value(gb.binary.eq(through & here) == True)  # noqa: E712
    offdiagonal = gb.select.offdiag(tight.new()).new()
    parent = offdiagonal.apply(gb.indexunary.rowindex).new().reduce_columnwise(gb.monoid.min).new()
    parent[source] = source
    return dist, parent


def all_pairs(gb, A):
    """All distances, by squaring over min-plus."""
    D = A.dup()
    D.setdiag(0)
    length = 1
    while length < A.nrows:
        D(gb.binary.min) << gb.semiring.min_plus(D @ D)
        length *= 2
    return D


def widest_paths(gb, A, source):
    """The largest capacity of a bottleneck on the way to each vertex (max-min)."""
    width = gb.Vector(A.dtype, A.nrows)
    width[source] = 1000
    while True:
        before = width.dup()
        width(gb.binary.max) << width.vxm(A, gb.semiring.max_min)
        if width.isequal(before, check_dtype=True):
            return width
