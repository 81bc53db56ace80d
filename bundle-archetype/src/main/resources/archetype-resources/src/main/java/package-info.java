/** Bundle {@code ${artifactId}}: one handler, of {@code ${artifactId}.greet}. */
package ${package};
