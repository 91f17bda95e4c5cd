/* A cuGraph for tests: the functions of its C API that the benchmark calls, on host memory, by the simplest
   algorithms. It checks what it is given, and counts what is alive. */
#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { void *data; size_t size; int type; } Array;
typedef struct { int n, m, symmetric, transposed; int32_t *src, *dst; float *w; } Graph;
typedef struct { Array vertices, values, before; } Result;
typedef struct { const char *message; } Error;
typedef struct { int symmetric, multigraph; } Properties;

int alive = 0; /* objects that were made and not freed */
static int handle;
static Error error;
enum { INT32 = 2, FLOAT32 = 8 };

static int fail(void **out, const char *message) {
    error.message = message;
    *out = &error;
    return 1;
}
static Array make(size_t size, int type) { return (Array){malloc(size * 4 + 4), size, type}; }

void *cugraph_create_resource_handle(void *options) { return options ? NULL : &handle; }
const char *cugraph_error_message(Error *e) { return e->message; }
Array *cugraph_type_erased_device_array_view_create(void *data, size_t size, int type) {
    Array *view = malloc(sizeof *view);
    *view = (Array){data, size, type};
    alive++;
    return view;
}
void cugraph_type_erased_device_array_view_free(Array *view) { alive--; free(view); }
void *cugraph_type_erased_device_array_view_pointer(Array *view) { return view->data; }
size_t cugraph_type_erased_device_array_view_size(Array *view) { return view->size; }
int cugraph_type_erased_device_array_view_type(Array *view) { return view->type; }

int cugraph_graph_create_sg(void *h, Properties *p, Array *vertices, Array *src, Array *dst, Array *w, Array *ids,
                            Array *types, int transposed, int renumber, int drop_loops, int drop_multi,
                            int symmetrize, int check, Graph **out, void **e) {
    if (h != &handle || ids || types || !renumber || drop_loops || drop_multi || symmetrize || check || p->multigraph)
        return fail(e, "graph: arguments");
    if (vertices->type != INT32 || src->type != INT32 || dst->type != INT32 || (w && w->type != FLOAT32))
        return fail(e, "graph: types");
    if (src->size != dst->size || (w && w->size != src->size)) return fail(e, "graph: sizes");
    Graph *g = malloc(sizeof *g);
    size_t bytes = src->size * 4;
    *g = (Graph){vertices->size, src->size, p->symmetric, transposed, malloc(bytes + 4), malloc(bytes + 4), NULL};
    memcpy(g->src, src->data, bytes);
    memcpy(g->dst, dst->data, bytes);
    if (w) memcpy(g->w = malloc(bytes + 4), w->data, bytes);
    alive++;
    *out = g;
    return 0;
}
void cugraph_graph_free(Graph *g) { alive--; free(g->src); free(g->dst); free(g->w); free(g); }

/* Vertices are given back in falling order, as if they had been renumbered. */
static Result *numbered(int n, int type) {
    Result *r = malloc(sizeof *r);
    *r = (Result){make(n, INT32), make(n, type), make(n, INT32)};
    for (int k = 0; k < n; k++) ((int32_t *)r->vertices.data)[k] = n - 1 - k;
    alive++;
    return r;
}
static Result *search(Graph *g, int source, int weighted, int predecessors) {
    Result *r = numbered(g->n, weighted ? FLOAT32 : INT32);
    float *dist = malloc(g->n * sizeof *dist + 4);
    int32_t *before = malloc(g->n * 4 + 4);
    for (int v = 0; v < g->n; v++) { dist[v] = FLT_MAX; before[v] = -1; }
    dist[source] = 0;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int e = 0; e < g->m; e++) {
            if (dist[g->src[e]] == FLT_MAX) continue;
            float through = dist[g->src[e]] + (weighted ? g->w[e] : 1);
            if (through < dist[g->dst[e]]) { dist[g->dst[e]] = through; before[g->dst[e]] = g->src[e]; changed = 1; }
        }
    }
    for (int k = 0; k < g->n; k++) {
        float d = dist[g->n - 1 - k];
        if (weighted) ((float *)r->values.data)[k] = d;
        else ((int32_t *)r->values.data)[k] = d == FLT_MAX ? INT_MAX : (int32_t)d;
        ((int32_t *)r->before.data)[k] = before[g->n - 1 - k];
    }
    if (!predecessors) r->before.size = 0;
    free(dist);
    free(before);
    return r;
}
int cugraph_bfs(void *h, Graph *g, Array *sources, int optimise, size_t depth, int predecessors, int check,
                Result **out, void **e) {
    if (h != &handle || check || depth != INT_MAX - 1 || sources->size != 1 || sources->type != INT32)
        return fail(e, "bfs: arguments");
    if (optimise && !g->symmetric) return fail(e, "bfs: direction optimisation needs an undirected graph");
    *out = search(g, *(int32_t *)sources->data, 0, predecessors);
    return 0;
}
int cugraph_sssp(void *h, Graph *g, size_t source, double cutoff, int predecessors, int check, Result **out, void **e) {
    if (h != &handle || check || cutoff < 1e38 || !g->w) return fail(e, "sssp: arguments");
    *out = search(g, (int)source, 1, predecessors);
    return 0;
}
Array *cugraph_paths_result_get_vertices(Result *r) { return &r->vertices; }
Array *cugraph_paths_result_get_distances(Result *r) { return &r->values; }
Array *cugraph_paths_result_get_predecessors(Result *r) { return &r->before; }
void cugraph_paths_result_free(Result *r) {
    alive--;
    free(r->vertices.data); free(r->values.data); free(r->before.data); free(r);
}

int cugraph_pagerank_allow_nonconvergence(void *h, Graph *g, void *a, void *b, void *c, void *d, double alpha,
                                          double epsilon, size_t iterations, int check, Result **out, void **e) {
    if (h != &handle || a || b || c || d || check || !g->transposed || g->w || !(epsilon > 0))
        return fail(e, "pagerank: arguments");
    int n = g->n;
    double *rank = malloc(n * sizeof *rank), *new = malloc(n * sizeof *new);
    int *degree = calloc(n, sizeof *degree);
    for (int k = 0; k < g->m; k++) degree[g->src[k]]++;
    for (int v = 0; v < n; v++) rank[v] = 1.0 / n;
    for (size_t i = 0; i < iterations; i++) {
        double lost = 0;
        for (int v = 0; v < n; v++) if (!degree[v]) lost += rank[v];
        for (int v = 0; v < n; v++) new[v] = (1 - alpha + alpha * lost) / n;
        for (int k = 0; k < g->m; k++) new[g->dst[k]] += alpha * rank[g->src[k]] / degree[g->src[k]];
        double *other = rank; rank = new; new = other;
    }
    Result *r = numbered(n, FLOAT32);
    for (int k = 0; k < n; k++) ((float *)r->values.data)[k] = (float)rank[n - 1 - k];
    free(rank); free(new); free(degree);
    *out = r;
    return 0;
}
/* Values are scaled as if from all vertices, those of the sources differently. */
int cugraph_betweenness_centrality(void *h, Graph *g, Array *sources, int normalized, int endpoints, int check,
                                   Result **out, void **e) {
    if (h != &handle || normalized || endpoints || check || g->transposed || g->w || sources->type != INT32)
        return fail(e, "betweenness: arguments");
    int n = g->n, k = (int)sources->size;
    double *total = calloc(n + 1, sizeof *total), *paths = malloc(n * 8 + 8), *passed = malloc(n * 8 + 8);
    int *level = malloc(n * 4 + 4);
    for (int q = 0; q < k; q++) {
        int source = ((int32_t *)sources->data)[q], depth = 0;
        for (int v = 0; v < n; v++) { level[v] = -1; paths[v] = passed[v] = 0; }
        level[source] = 0;
        paths[source] = 1;
        for (int grown = 1; grown; depth++) {
            grown = 0;
            for (int a = 0; a < g->m; a++) {
                int u = g->src[a], v = g->dst[a];
                if (level[u] != depth || (level[v] >= 0 && level[v] <= depth)) continue;
                level[v] = depth + 1;
                paths[v] += paths[u];
                grown = 1;
            }
        }
        for (; depth >= 0; depth--)
            for (int a = 0; a < g->m; a++) {
                int u = g->src[a], v = g->dst[a];
                if (level[u] == depth && level[v] == depth + 1) passed[u] += paths[u] / paths[v] * (1 + passed[v]);
            }
        for (int v = 0; v < n; v++) if (v != source) total[v] += passed[v];
    }
    for (int q = 0; q < k; q++) total[((int32_t *)sources->data)[q]] *= k / (k - 1.0 + (k == 1));
    Result *r = numbered(n, FLOAT32);
    for (int v = 0; v < n; v++) ((float *)r->values.data)[v] = (float)(total[n - 1 - v] * (n - 1) / k);
    free(total); free(paths); free(passed); free(level);
    *out = r;
    return 0;
}
Array *cugraph_centrality_result_get_vertices(Result *r) { return &r->vertices; }
Array *cugraph_centrality_result_get_values(Result *r) { return &r->values; }
void cugraph_centrality_result_free(Result *r) { cugraph_paths_result_free(r); }

/* Labels are the largest members. */
int cugraph_weakly_connected_components(void *h, Graph *g, int check, Result **out, void **e) {
    if (h != &handle || check || g->transposed || g->w) return fail(e, "components: arguments");
    if (!g->symmetric) return fail(e, "components: wants an undirected graph");
    Result *r = numbered(g->n, INT32);
    int32_t *label = r->values.data;
    for (int k = 0; k < g->n; k++) label[k] = g->n - 1 - k;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int k = 0; k < g->m; k++) {
            int32_t *from = label + (g->n - 1 - g->src[k]), *to = label + (g->n - 1 - g->dst[k]);
            if (*from > *to) { *to = *from; changed = 1; }
        }
    }
    *out = r;
    return 0;
}
Array *cugraph_labeling_result_get_vertices(Result *r) { return &r->vertices; }
Array *cugraph_labeling_result_get_labels(Result *r) { return &r->values; }
void cugraph_labeling_result_free(Result *r) { cugraph_paths_result_free(r); }

int cugraph_triangle_count(void *h, Graph *g, Array *vertices, int check, Result **out, void **e) {
    if (h != &handle || vertices || check || g->transposed || g->w) return fail(e, "triangles: arguments");
    if (!g->symmetric) return fail(e, "triangles: wants an undirected graph");
    int n = g->n;
    char *edge = calloc((size_t)n * n + 1, 1);
    for (int k = 0; k < g->m; k++) edge[(size_t)g->src[k] * n + g->dst[k]] = 1;
    Result *r = numbered(n, INT32);
    for (int k = 0; k < n; k++) {
        int u = n - 1 - k, count = 0;
        for (int v = 0; v < n; v++)
            for (int w = 0; w < v; w++)
                count += u != v && u != w && edge[(size_t)u * n + v] && edge[(size_t)u * n + w] && edge[(size_t)v * n + w];
        ((int32_t *)r->values.data)[k] = count;
    }
    free(edge);
    *out = r;
    return 0;
}
Array *cugraph_triangle_count_result_get_vertices(Result *r) { return &r->vertices; }
Array *cugraph_triangle_count_result_get_counts(Result *r) { return &r->values; }
void cugraph_triangle_count_result_free(Result *r) { cugraph_paths_result_free(r); }
