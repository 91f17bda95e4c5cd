"""Deal vertices to parts one after the other, and count what parts need of each other.

Method: each loop is serial, since where a vertex goes depends on those before it; `lo..hi` is a range of `order`.
Data encoding: the pattern of a matrix as CSR; `owner` says which part has a vertex (`parts`: none yet).
Work: one step per vertex and part; `deal_biased` and `count_border` also one per stored entry.
"""

import numpy as np


def deal_lightest(lo, hi, order, weights, parts, load, owner):
    """Each vertex of `order` goes to the part that has the least so far."""
    for q in range(lo, hi):
        v = order[q]
        best = 0
        for p in range(1, parts):
            if load[p] < load[best]:
                best = p
        owner[v] = best
        load[best] += weights[v]


def deal_biased(lo, hi, order, indptr, indices, weights, parts, draws, bias, room, near, owner):
    """Each vertex of `order` goes, with probability `bias`, to the part with most of its neighbours, else by room.

    `draws` has one number of [0, 1) per vertex. A part whose room is less than the vertex' weight is left out; if all
    are, the one with most room has it. `near` is scratch, of parts + 1.
    """
    for q in range(lo, hi):
        v = order[q]
        weight = weights[v]
        for p in range(parts + 1):
            near[p] = 0
        for e in range(indptr[v], indptr[v + 1]):
            near[owner[indices[e]]] += 1
        roomiest = 0
        most = -1
        free = 0
        for p in range(parts):
            if room[p] > room[roomiest]:
                roomiest = p
            if room[p] >= weight:
                free += room[p]
                if near[p] > 0 and (most < 0 or near[p] > near[most]):
                    most = p
        chosen = roomiest
        draw = draws[q]
        if most >= 0 and draw < bias:
            chosen = most
        elif free > 0:
            if most >= 0:
                draw = (draw - bias) / (1.0 - bias)
            left = np.int64(draw * free)
            for p in range(parts):
                if room[p] >= weight:
                    if left < room[p]:
                        chosen = p
                        break
                    left -= room[p]
        owner[v] = chosen
        room[chosen] -= weight


def count_border(lo, hi, order, indptr, indices, owner, parts, asked, pairs):
    """pairs[p * parts + d]: how many vertices p owns and d needs; returns how many entries cross.

    `order` has the vertices of part 0 first, then those of part 1, and so on; `asked[j]` is one more than the last part
    that needed j.
    """
    cut = 0
    for q in range(lo, hi):
        v = order[q]
        d = np.int64(owner[v])
        for e in range(indptr[v], indptr[v + 1]):
            j = indices[e]
            p = np.int64(owner[j])
            if p != d:
                cut += 1
                if asked[j] != d + 1:
                    asked[j] = d + 1
                    pairs[p * parts + d] += 1
    return cut
